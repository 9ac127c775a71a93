// Another node that is faster: before a commit of the service, a rival commit changes the same document.
import { Store } from "#core"
import type { Commit, Write } from "../core/contract/store.ts"
import type { Key } from "../core/kernel/di.ts"

export interface Rival {
  /** Commits that met a rival one. */
  readonly met: number
  /** Ends it; later commits meet no rival. */
  stop(): void
}

export interface RivalOptions {
  /** The writes that meet a rival; default: every write on condition and every insert. */
  readonly only?: (write: Write) => boolean
  /** The rival itself. Default: a commit that counts up the number in the condition, or adds the same document. */
  readonly faster?: (write: Write) => Promise<unknown>
}

/** Lets the first `times` commits that write a document of the collection come second to a real commit of the same store. */
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

/** Undefined for a write that no other commit refuses. */
function rivalTo(write: Write): Write | undefined {
  if (write.kind === "insert" && write.ifPresent !== "keep") return write
  if (write.kind !== "update" || !write.where) return undefined
  const counted = Object.entries(write.where).find(([, value]) => typeof value === "number")
  if (!counted) return undefined
  return { ...write, update: { $inc: { [counted[0]]: 1 } }, where: {}, optional: true, upsert: false }
}
