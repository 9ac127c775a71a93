// Who a message is from. The configured sender unless a plugin (one that knows an organization's verified domains)
// chooses another.
import { token } from "#core"
import type { Service } from "#core/engine"
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

/** Undefined: not this organization's business, the next one is asked. */
export type ChooseSender = (organization: string, domain?: string) => Promise<Sender | undefined>

export interface Senders {
  /** The sender of the service's own mail. */
  readonly service: Sender
  /** `domain`: the one of the organization's domains to send from. */
  senderOf(organization: string, domain?: string): Promise<Sender>
  /** Later choosers are asked first. To be called while services are created. */
  use(choose: ChooseSender): void
}

export const Senders = token<Senders>("Senders")

export function sendersService(fallback: Sender): Service<Senders> {
  return { create: () => createSenders(fallback) }
}

export function createSenders(fallback: Sender): Senders {
  const choosers: ChooseSender[] = []
  return {
    service: fallback,
    async senderOf(organization, domain) {
      for (const choose of choosers) {
        const sender = await choose(organization, domain)
        if (sender) return sender
      }
      return fallback
    },
    use: (choose) => {
      choosers.unshift(choose)
    },
  }
}
