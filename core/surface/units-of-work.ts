// Units of work outside a call: stages, commits, runs the hooks. Repeats the work after a conflict if the caller requests
// retries.
import type { CommitResult, Store } from "../contract/store.ts"
import { isConflict, StagedWork, type UnitOfWork, type UnitsOfWork } from "../contract/unit-of-work.ts"
import { type Clock, sleep } from "../kernel/clock.ts"
import { AppError } from "../kernel/errors.ts"
import type { Ids } from "../kernel/ids.ts"

interface UnitsOfWorkDeps {
  readonly store: Pick<Store, "commit">
  readonly ids: Ids
  readonly clock: Clock
}

type Stage<T> = (work: UnitOfWork) => Promise<T> | T

/** Hundreds of concurrent writers of one document all succeed within these tries. */
const maxTries = 60
/** The first retries follow at once. Later retries wait a random time to avoid further conflicts. */
const triesAtOnce = 2
const maxPauseMs = 200

export function createUnitsOfWork({ store, ids, clock }: UnitsOfWorkDeps): UnitsOfWork {
  let inProgress = 0

  async function counted<T>(run: () => Promise<T>): Promise<T> {
    inProgress++
    try {
      return await run()
    } finally {
      inProgress--
    }
  }

  async function staged<T>(stage: Stage<T>): Promise<{ work: StagedWork; value: T }> {
    const work = new StagedWork(ids.uuid())
    return { work, value: await stage(work) }
  }

  const commit = async (work: StagedWork): Promise<CommitResult> =>
    work.writes.length > 0 ? await store.commit(work.commit) : { created: [] }

  return {
    get inProgress() {
      return inProgress
    },
    run: (stage) =>
      counted(async () => {
        const { work, value } = await staged(stage)
        await work.committed(await commit(work))
        return value
      }),
    retryConflicts: (stage) =>
      counted(async () => {
        let before: unknown
        for (let tries = 1; ; tries++) {
          const { work, value } = await staged(stage)
          let result: CommitResult
          try {
            result = await commit(work)
          } catch (error) {
            if (!mayPass(error, before) || tries >= maxTries) throw error
            before = error
            if (tries > triesAtOnce) await sleep(clock, Math.random() * Math.min(maxPauseMs, 2 ** tries))
            continue
          }
          // Outside the try: a hook fails after the commit, and the commit must not run twice.
          await work.committed(result)
          return value
        }
      }),
  }
}

/** Returns false for other failures. Also false if the same document is missing again: the work does not read it. */
function mayPass(error: unknown, before: unknown): boolean {
  if (!isConflict(error)) return false
  // The message names the document.
  return error.code !== "not_found" || !(before instanceof AppError) || before.message !== error.message
}
