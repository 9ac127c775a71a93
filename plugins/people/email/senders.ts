// Who a message is from. The configured sender unless a plugin (one that knows an organization's verified domains)
// chooses another.
import { defineExtensionPoint, token } from "#core"
import type { MailAddress } from "./addresses.ts"

export interface Sender {
  readonly from: MailAddress
  readonly reply_to?: readonly MailAddress[]
  /** A return path: who bounces go to, with the token of the message behind a plus; the From address unless given. */
  readonly envelope_from?: string
  readonly dkim?: DkimKey
}

/** What mail is signed with (RFC 6376). */
export interface DkimKey {
  readonly domain: string
  readonly selector: string
  /** PEM. */
  readonly privateKey: string
}

/** Returns undefined to leave the choice to an earlier plugin. */
export type ChooseSender = (organization: string, domain?: string) => Promise<Sender | undefined>

/** Later items are asked first. */
export const SenderChoices = defineExtensionPoint<ChooseSender>({ id: "email.senders" })

export interface Senders {
  /** The sender of the service's own mail. */
  readonly service: Sender
  /** `domain`: the one of the organization's domains to send from. */
  senderOf(organization: string, domain?: string): Promise<Sender>
}

export const Senders = token<Senders>("Senders")

export function createSenders(fallback: Sender, choices: readonly ChooseSender[] = []): Senders {
  return {
    service: fallback,
    async senderOf(organization, domain) {
      for (const choose of choices.toReversed()) {
        const sender = await choose(organization, domain)
        if (sender) return sender
      }
      return fallback
    },
  }
}
