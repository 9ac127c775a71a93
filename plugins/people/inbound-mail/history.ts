// Mail to and from people, for the lead timeline.
import { type Document, type Json, type Store, token } from "#core"
import { ConversationCollection, MessageCollection, type StoredMessage } from "./conversations/collections.ts"

export interface MailStep extends Document {
  at: string
  kind: string
  summary: string
  evidence: Record<string, Json>
}

export interface MailHistoryQuery {
  readonly organization: string
  /** Normalized addresses. */
  readonly emails: readonly string[]
  readonly limit: number
  readonly after?: readonly [string, string]
}

/** Returns the newest messages with these addresses, by `at` and `id` descending. */
export type MailHistory = (query: MailHistoryQuery) => Promise<MailStep[]>

export const MailHistory = token<MailHistory>("MailHistory")

const maxConversations = 50

export function mailHistory(store: Store): MailHistory {
  return async ({ organization, emails, limit, after }) => {
    if (emails.length === 0) return []
    const conversations = await store
      .open(ConversationCollection, organization)
      .find({ address: { $in: [...emails] } }, { sort: { last_message_at: -1 }, limit: maxConversations })
    if (conversations.length === 0) return []
    const of = { conversation_id: { $in: conversations.map(({ id }) => id) } }
    const options = { sort: { at: -1, id: -1 }, limit, ...(after ? { after } : {}) } as const
    return (await store.open(MessageCollection, organization).find(of, options)).map(step)
  }
}

function step({ id, at, direction, subject, message_id, conversation_id, from, to, inbound }: StoredMessage): MailStep {
  const received = direction === "inbound"
  const evidence = {
    message_id,
    conversation_id,
    from: from.address,
    to: to.map(({ address }) => address),
    ...(inbound ? { quarantined: inbound.quarantined, automatic: inbound.automatic } : {}),
  }
  const summary = `${received ? "Wrote a mail" : "Was sent a mail"}: ${subject === "" ? "no subject" : subject.slice(0, 200).toWellFormed()}`
  return { id, at, kind: `email.${received ? "received" : "sent"}`, summary, evidence }
}
