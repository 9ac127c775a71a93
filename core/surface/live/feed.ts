// The Live token. A message is staged and stored with its commit, and emitted when the commit is on disk. This is the hot path:
// staging is synchronous, and emitting to an empty room costs one lookup.
import { channelPattern, type Live, type LiveMessage } from "../../contract/channel.ts"
import type { UnitOfWork } from "../../contract/unit-of-work.ts"
import { type Clock, timestamp } from "../../kernel/clock.ts"
import { AppError } from "../../kernel/errors.ts"
import type { Ids } from "../../kernel/ids.ts"
import { expiry, type LiveMessageDocument, LiveMessages, roomOf } from "./messages.ts"
import type { Outbox } from "./outbox.ts"
import type { Trimmer } from "./trim.ts"

export interface FeedDeps {
  readonly clock: Clock
  readonly ids: Ids
  readonly node: string
  readonly keepMs: number
  readonly keepMessages: number
  readonly outbox: Outbox
  readonly trimmer: Trimmer
  readonly deliver: (organization: string, message: LiveMessageDocument) => void
  readonly hasSubscribers: Live["hasSubscribers"]
  readonly onBroadcast?: ((organization: string, message: LiveMessageDocument) => void) | undefined
}

export function createFeed(deps: FeedDeps): Live {
  const keeps = deps.keepMs > 0 && deps.keepMessages > 0

  const documentOf = (message: LiveMessage, id: string): LiveMessageDocument => {
    if (!channelPattern.test(message.channel)) throw badChannel(message.channel)
    const now = deps.clock.now()
    return {
      id,
      room: roomOf(message.channel, message.publicEndpoint),
      channel: message.channel,
      event: message.event,
      data: message.data,
      at: timestamp(now),
      node: deps.node,
      expires_at: expiry(now, deps.keepMs),
    }
  }

  const committed = (organization: string, doc: LiveMessageDocument) => {
    deps.onBroadcast?.(organization, doc)
    deps.deliver(organization, doc)
  }

  const keep = (work: UnitOfWork, organization: string, doc: LiveMessageDocument) => {
    const index = work.writes.length
    work.in(LiveMessages, organization).insert(doc, { ifPresent: "keep" })
    deps.outbox.staged(work, organization, doc.id)
    work.afterCommit(({ created }) => {
      // A message of a retry or replay was emitted the first time.
      if (created[index] !== false) committed(organization, doc)
      deps.outbox.emitted(doc.id)
      deps.trimmer.committed(organization, doc.room)
    })
  }

  return {
    stage(work, organization, message, id = deps.ids.uuid()) {
      const doc = documentOf(message, id)
      if (keeps) keep(work, organization, doc)
      else work.afterCommit(() => committed(organization, doc))
      return id
    },
    emit(organization, message, id = deps.ids.uuid) {
      if (deps.hasSubscribers(organization, message)) deps.deliver(organization, documentOf(message, id()))
    },
    hasSubscribers: deps.hasSubscribers,
  }
}

function badChannel(channel: string): AppError {
  return new AppError(
    "invalid_argument",
    `"${channel}" is not a channel name; use letters, digits and . _ - : between them, at most 100, such as leads.`,
    { reason: "invalid_channel" },
  )
}
