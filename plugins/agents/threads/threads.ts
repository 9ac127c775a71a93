// Threads: create, find and append. Messages are immutable.
import { AppError, Clock, type Deps, Ids, Store, timestamp, token, type UnitOfWork } from "#core"
import { MessageCollection, type StoredMessage, type StoredThread, ThreadCollection } from "./collections.ts"

export type NewMessage = Pick<StoredMessage, "role" | "author" | "content"> & { readonly agent_run_id?: string | null }

/** Limit of a stored message, characters. */
export const maxContent = 20_000

export interface Threads {
  /** Throws `not_found`. */
  require(organization: string, id: string): Promise<StoredThread>
  /** Stages a thread. */
  create(work: UnitOfWork, organization: string, thread: { readonly title: string; readonly userId: string | null }): StoredThread
  /** Stages a message. */
  append(work: UnitOfWork, organization: string, threadId: string, message: NewMessage): StoredMessage
  /** Returns the newest messages, up to `until` if set, oldest first. */
  last(organization: string, threadId: string, limit: number, until?: string): Promise<StoredMessage[]>
}

export const Threads = token<Threads>("Threads")
export const threadsNeeds = { store: Store, clock: Clock, ids: Ids }

export function createThreads({ store, clock, ids }: Deps<typeof threadsNeeds>): Threads {
  return {
    async require(organization, id) {
      const thread = await store.open(ThreadCollection, organization).get(id)
      if (thread) return thread
      throw new AppError("not_found", `The organization has no thread ${id}; GET /v1/threads lists them.`, { reason: "thread_not_found" })
    },
    create(work, organization, { title, userId }) {
      const at = timestamp(clock.now())
      const thread: StoredThread = {
        id: ids.uuid(),
        title,
        message_count: 0,
        created_by_user_id: userId,
        created_at: at,
        updated_at: at,
      }
      work.in(ThreadCollection, organization).insert(thread)
      return thread
    },
    append(work, organization, threadId, { role, author, content, agent_run_id = null }) {
      const at = timestamp(clock.now())
      const message: StoredMessage = {
        id: ids.uuid(),
        thread_id: threadId,
        role,
        author,
        content: content.slice(0, maxContent),
        agent_run_id,
        created_at: at,
      }
      work.in(MessageCollection, organization).insert(message)
      work.in(ThreadCollection, organization).update(threadId, { $inc: { message_count: 1 }, $set: { updated_at: at } })
      return message
    },
    async last(organization, threadId, limit, until) {
      const where = { thread_id: threadId, ...(until === undefined ? {} : { id: { $lte: until } }) }
      const messages = await store.open(MessageCollection, organization).find(where, { sort: { id: -1 }, limit })
      return messages.reverse()
    },
  }
}
