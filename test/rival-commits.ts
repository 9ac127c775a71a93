// Simulates a faster node: before a commit of the service, a rival commit changes the same document.
import { Store } from "#core"
import type { Commit, Write } from "../core/contract/store.ts"
import type { Key } from "../core/kernel/di.ts"

export interface Rival {
  /** Number of commits with a rival. */
  readonly met: number
  /** Ends the rivalry; later commits have no rival. */
  stop(): void
}

export interface RivalOptions {
  /** Selects writes with a rival. Default: every conditional write and every insert. */
  readonly only?: (write: Write) => boolean
  /** The rival commit. Default: increments the number in the condition, or inserts the same document. */
  readonly faster?: (write: Write) => Promise<unknown>
}

/** Makes the first `times` commits to the collection lose against a real commit of the same store. */
export function rivalOf(host: { get<T>(token: Key<T>): T }, collection: string | undefined, times = 1, options: RivalOptions = {}): Rival {
  const { only = () => true, faster } = options
  const store = host.get(Store)
  const own = store.commit
  let met = 0
  const meets = (write: Write) =>
    (collection === undefined || write.collection.name === collection) &&
    only(write) &&
    (faster !== undefined || rivalTo(write) !== undefined)
  store.commit = async (commit: Commit) => {
    const write = commit.writes.find(meets)
    if (write && met < times) {
      met++
      const rival = rivalTo(write)
      if (faster) await faster(write)
      else if (rival) await own.call(store, { id: `${commit.id}:rival`, writes: [rival] })
    }
    return await own.call(store, commit)
  }
  return {
    get met() {
      return met
    },
    stop: () => void Object.assign(store, { commit: own }),
  }
}

/** Returns undefined for a write that no other commit can refuse. */
function rivalTo(write: Write): Write | undefined {
  if (write.kind === "insert" && write.ifPresent !== "keep") return write
  if (write.kind !== "update" || !write.where) return undefined
  const counted = Object.entries(write.where).find(([, value]) => typeof value === "number")
  if (!counted) return undefined
  return { ...write, update: { $inc: { [counted[0]]: 1 } }, where: {}, optional: true, upsert: false }
}
