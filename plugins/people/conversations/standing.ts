// Preflight check of a message by the gate.
import { AppError, type Deps, Store, token } from "#core"
import { type Channel, collections } from "./channels.ts"
import { type Asked, EgressGate, type Finding } from "./egress/gate.ts"
import { type PhoneNumber, PhoneNumberResource, PhoneNumbers } from "./numbers/phone-number.ts"
import { writtenAs } from "./phone.ts"
import type { OutboundMessage } from "./vetoes.ts"

export interface StandingQuestion extends Pick<Asked, "channel" | "address" | "template"> {
  /** The service's own number. Empty: the person's most recent number, else the first connected number. */
  readonly from: string
}

export interface StandingAnswer {
  /** The purpose from the message's template. */
  readonly purpose: OutboundMessage["purpose"]
  readonly findings: readonly Finding[]
}

/** Returns the findings of all gate rules. Throws `not_found` for an unregistered number. */
export type ConversationStanding = (organization: string, question: StandingQuestion) => Promise<StandingAnswer>

export const ConversationStanding = token<ConversationStanding>("ConversationStanding")

export const conversationStandingNeeds = { store: Store, numbers: PhoneNumbers, gate: EgressGate }

export function conversationStanding({ store, numbers, gate }: Deps<typeof conversationStandingNeeds>): ConversationStanding {
  async function numberOf(organization: string, channel: Channel, address: string): Promise<PhoneNumber | undefined> {
    const lines = await store
      .open(PhoneNumberResource.collection, organization)
      .find({ [channel]: { $ne: null } }, { sort: { created_at: 1 } })
    const newest = await store
      .open(collections[channel].conversations, organization)
      .first({ address: writtenAs([address]), number: { $in: lines.map(({ number }) => number) } }, { sort: { activity_at: -1 } })
    return lines.find(({ number }) => number === newest?.number) ?? lines[0]
  }
  return async (organization, { from, ...question }) => {
    const { channel, address } = question
    const number = from === "" ? await numberOf(organization, channel, address) : await numbers.require(organization, from)
    if (!number) return { purpose: "service", findings: [unconnected] }
    const asked = { ...question, number }
    return { purpose: await gate.purposeOf(organization, asked), findings: await gate.examine(organization, asked) }
  }
}

const why = "The organization has no number that is connected for this channel; POST /v1/voice/phone-numbers registers one."
const refusal = new AppError("failed_precondition", why, { reason: "channel_not_connected" })
const unconnected: Finding = { rule: "connection", why, evidence: {}, refusal }
