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
  /** `marketing`: a template of that category; `service`: every other message. */
  readonly purpose: "marketing" | "service"
}

/** Why a message must not be sent, as a sentence for people. */
export interface Veto {
  readonly by: string
  readonly why: string
  /** Nothing of the message may be kept either. */
  readonly erased?: boolean
}

/** Asked when a message is accepted and again just before it is sent. What it throws holds the message back. */
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
