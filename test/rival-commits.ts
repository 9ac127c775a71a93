// Another node that is faster: before a commit of the service, a rival commit changes the same document.
import { Store } from "#core"
import type { Commit, Write } from "../core/contract/store.ts"
import type { Token } from "../core/kernel/di.ts"

export interface Rival {
  /** Commits that met a rival one. */
  readonly met: number
  /** Ends it; later commits meet no rival. */
  stop(): void
}

/**
 * Lets the first `times` commits that change a document of the collection on condition, or that add one, come second.
 * The rival commit is a real one of the same store: it counts up the number that the condition names, or adds the document.
 */
export function rivalOf(host: { get<T>(token: Token<T>): T }, collection: string, times = 1): Rival {
  const store = host.get(Store)
  const own = store.commit
  let met = 0
  store.commit = async (commit: Commit) => {
    const rival = met < times ? rivalFor(commit, collection) : undefined
    if (rival) {
      met++
      await own.call(store, { id: `${commit.id}:rival`, writes: [rival] })
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

function rivalFor({ writes }: Commit, collection: string): Write | undefined {
  for (const write of writes) {
    if (write.collection.name !== collection) continue
    if (write.kind === "insert" && write.ifPresent !== "keep") return write
    if (write.kind !== "update" || !write.where) continue
    const counted = Object.entries(write.where).find(([, value]) => typeof value === "number")
    if (counted) return { ...write, update: { $inc: { [counted[0]]: 1 } }, where: {}, optional: true, upsert: false }
  }
  return undefined
}
