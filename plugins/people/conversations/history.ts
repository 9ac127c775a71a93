// Messages and opt-out changes of a person, for the lead timeline.
import { type Document, type Json, type Store, token } from "#core"
import { channels, collections } from "./channels.ts"
import type { StoredMessage } from "./messages.ts"
import type { OptOutEntry } from "./opt-out/ledger.ts"
import { writtenAs } from "./phone.ts"

export interface HistoryStep extends Document {
  at: string
  kind: string
  summary: string
  evidence: Record<string, Json>
}

export interface HistoryQuery {
  readonly organization: string
  /** E.164. */
  readonly phones: readonly string[]
  readonly limit: number
  readonly after?: readonly [string, string]
}

/** Returns the newest steps with these numbers, by `at` and `id` descending. At most `limit` steps of each kind per channel. */
export type ConversationHistory = (query: HistoryQuery) => Promise<HistoryStep[]>

export const ConversationHistory = token<ConversationHistory>("ConversationHistory")

/** Conversations per lead in the timeline. */
const maxConversations = 50
const maxText = 200

export function conversationHistory(store: Store): ConversationHistory {
  return async ({ organization, phones, limit, after }) => {
    if (phones.length === 0) return []
    const options = { sort: { at: -1, id: -1 }, limit, ...(after ? { after } : {}) } as const
    const address = writtenAs(phones)
    const steps = channels.map(async (channel) => {
      const { conversations, messages, ledger } = collections[channel]
      const found = await store.open(conversations, organization).find({ address }, { sort: { activity_at: -1 }, limit: maxConversations })
      const of = { conversation_id: { $in: found.map(({ id }) => id) } }
      const said = found.length === 0 ? [] : await store.open(messages, organization).find(of, options)
      const refused = await store.open(ledger, organization).find({ address }, options)
      return [...said.map((message) => messageStep(channel, message)), ...refused.map((entry) => optOutStep(channel, entry))]
    })
    return (await Promise.all(steps)).flat()
  }
}

function messageStep(channel: string, message: StoredMessage): HistoryStep {
  const { id, at, direction, kind, text, state, conversation_id, provider_id, location } = message
  const received = direction === "in"
  const summary = received ? `Wrote by ${named(channel)}: ${kind}.` : `Was written to by ${named(channel)}: ${kind}, ${state}.`
  const said = text === "" ? {} : { text: text.slice(0, maxText).toWellFormed() }
  const evidence = {
    message_id: id,
    conversation_id,
    provider_message_id: provider_id,
    ...said,
    ...(location ? { location: { ...location } } : {}),
  }
  return { id, at, kind: `${channel}.message_${received ? "received" : "sent"}`, summary, evidence }
}

function optOutStep(channel: string, { id, at, kind, source, message_id, wording, recorded_by }: OptOutEntry): HistoryStep {
  const summary = kind === "opt_out" ? `Opted out of ${named(channel)}.` : `Opted in to ${named(channel)} again.`
  return { id, at, kind: `${channel}.${kind}`, summary, evidence: { source, message_id, wording, recorded_by } }
}

function named(channel: string): string {
  return channel === "sms" ? "text message" : "the chat app"
}
