// Conversations of a large organization, written directly in the service's stored form without the events behind them.
import { Store, timestamp } from "#core"
import { StagedWork } from "#core/engine"
import type { TestHost } from "#core/testing"
import { type Channel, collections, conversationId, messageId } from "../../../plugins/people/conversations/channels.ts"
import { foldedFrom } from "../../../plugins/people/conversations/fold/fold.ts"
import type { StoredMessage } from "../../../plugins/people/conversations/messages.ts"
import { OptOuts } from "../../../plugins/people/conversations/opt-out/ledger.ts"
import { Leads } from "../../../plugins/people/leads/index.ts"

export interface Many {
  readonly conversations: number
  readonly messagesEach: number
}

const numbers = 10
const perCommit = 50
/** One of ten people has opted out. */
const perOptOut = 10

export const numberOf = (n: number) => `+49301234567${n % numbers}`
export const addressOf = (n: number) => `+49151${10_000_000 + n}`

/** Registers the numbers, and creates a lead for each person. */
export async function fillPeople(host: TestHost, { conversations }: Many): Promise<void> {
  for (let n = 0; n < numbers; n++) await host.api("POST", "/v1/voice/phone-numbers", { number: numberOf(n), agent_ref: `agent-${n}` })
  const at = timestamp(host.clock.now())
  for (let from = 0; from < conversations; from += 1_000) {
    const people = Array.from({ length: 1_000 }, (_, n) => ({ phone: addressOf(from + n), name: `Person ${from + n}`, at }))
    await host.get(Leads).seenTogether(host.organization.id, people)
  }
}

export async function fillConversations(host: TestHost, channel: Channel, many: Many, note: (completed: number) => void = () => undefined) {
  for (let from = 0; from < many.conversations; from += perCommit) {
    await fill(host, channel, many, from)
    if (from % 5_000 === 0) note(from)
  }
}

async function fill(host: TestHost, channel: Channel, many: Many, from: number): Promise<void> {
  const organization = host.organization.id
  const work = new StagedWork(`fill ${channel} ${from}`)
  const { messages, conversations } = collections[channel]
  for (let n = from; n < from + perCommit; n++) {
    const of = { number: numberOf(n), address: addressOf(n) }
    const conversation_id = conversationId(organization, channel, of)
    const created = Array.from({ length: many.messagesEach }, (_, place) =>
      messageAt(organization, channel, conversation_id, many, n, place),
    )
    for (const message of created) work.in(messages, organization).insert(message)
    const [first, lastIn, lastOut] = [created.at(0), created.at(-2), created.at(-1)] as [StoredMessage, StoredMessage, StoredMessage]
    work.in(conversations, organization).insert({
      ...foldedFrom(first, of),
      ...{ message_count: many.messagesEach, activity_at: lastOut.at, sender_kind: "organization" },
      ...{ last_inbound_at: lastIn.at, last_inbound_message_id: lastIn.id },
      ...{ last_outbound_at: lastOut.at, last_outbound_message_id: lastOut.id },
    })
    if (n % perOptOut > 0) continue
    const evidence = { source: "keyword", message_id: lastIn.id, wording: "STOP", recorded_by: null } as const
    const entry = { address: of.address, kind: "opt_out", at: lastIn.at, identity: lastIn.id, ...evidence } as const
    host.get(OptOuts).stage(work, organization, channel, entry)
  }
  await work.commitTo(host.get(Store))
}

/** Conversations overlap in time, as real ones do. */
function messageAt(
  organization: string,
  channel: Channel,
  conversation_id: string,
  { conversations, messagesEach }: Many,
  n: number,
  place: number,
): StoredMessage {
  const at = timestamp(Date.parse("2026-01-01T00:00:00Z") + (((n * 7_919) % conversations) * messagesEach + place) * 10_000)
  const provider_id = `wamid.${n}.${place}`
  const isIn = place % 2 === 0
  return {
    ...{ id: messageId(organization, channel, provider_id), conversation_id, at, provider_id, changed_at: at },
    ...{ direction: isIn ? "in" : "out", kind: "text", text: `Message ${place} of conversation ${n}, some sixty letters long.` },
    ...{ profile_name: isIn && channel === "chat_app" ? `Person ${n}` : "", location: null, context: null, referral: null, reaction: null },
    ...{ content: null, media: [], template: null, state: isIn ? "received" : "read", error: null },
  }
}
