// Vetoes of other plugins against a message to a person, such as those of consents.
import { defineExtensionPoint } from "#core"
import type { Channel } from "./channels.ts"

export interface OutboundMessage {
  readonly channel: Channel
  /** The service's own number, E.164. */
  readonly number: string
  /** The person's number, E.164. */
  readonly address: string
  readonly kind: "text" | "template"
  /** `marketing`: a template of that category. `service`: any other message. */
  readonly purpose: "marketing" | "service"
}

/** A veto against a message, with the reason as a sentence for users. */
export interface Veto {
  readonly by: string
  readonly why: string
  /** True if the message must not be stored either. */
  readonly erased?: boolean
}

/** Called when a message is accepted and again just before it is sent. An error delays the message. */
export type AskVeto = (organization: string, message: OutboundMessage) => Promise<Veto | undefined>

export const OutboundVetoes = defineExtensionPoint<AskVeto>({ id: "conversations.vetoes" })

/** Returns the first veto. */
export async function vetoOf(vetoes: readonly AskVeto[], organization: string, message: OutboundMessage): Promise<Veto | undefined> {
  for (const ask of vetoes) {
    const veto = await ask(organization, message)
    if (veto) return veto
  }
  return undefined
}
