// Units of work outside a call: staged, committed, then the hooks.
import type { Store } from "../contract/store.ts"
import { StagedWork, type UnitsOfWork } from "../contract/unit-of-work.ts"
import type { Ids } from "../kernel/ids.ts"

export function createUnitsOfWork(deps: { store: Store; ids: Ids }): UnitsOfWork {
  let inProgress = 0
  return {
    get inProgress() {
      return inProgress
    },
    async run(stage) {
      inProgress++
      try {
        const work = new StagedWork(deps.ids.uuid())
        const result = await stage(work)
        const committed = work.writes.length > 0 ? await deps.store.commit(work.commit) : { created: [] }
        await work.committed(committed)
        return result
      } finally {
        inProgress--
      }
    },
  }
}
