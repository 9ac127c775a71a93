// The sender of a message: the configured sender, unless a plugin chooses another. An example is a verified domain of the
// organization.
import { defineExtensionPoint, token } from "#core"
import type { MailAddress } from "./addresses.ts"

export interface Sender {
  readonly from: MailAddress
  readonly reply_to?: readonly MailAddress[]
  /** The return path for bounces, with the message's token after a plus. Default: the From address. */
  readonly envelope_from?: string
  readonly dkim?: DkimKey
}

/** The key for mail signatures (RFC 6376). */
export interface DkimKey {
  readonly domain: string
  readonly selector: string
  /** PEM. */
  readonly privateKey: string
}

/** Returns undefined to leave the choice to an earlier plugin. */
export type ChooseSender = (organization: string, domain?: string) => Promise<Sender | undefined>

/** Later items come first. */
export const SenderChoices = defineExtensionPoint<ChooseSender>({ id: "email.senders" })

export interface Senders {
  /** The sender of the service's own mail. */
  readonly service: Sender
  /** `domain`: the organization's domain for the sender. */
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
