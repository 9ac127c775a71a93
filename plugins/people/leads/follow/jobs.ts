// The jobs that make leads of rows: of those that were just written, and, now and then, of those that nobody told of.
import { Clock, defineJob, JobQueue } from "#core"
import { CatchUp } from "./catch-up.ts"
import { Follower } from "./follower.ts"
import { catchUpRef, followRef } from "./handovers.ts"

/** A commit takes a moment after its rows were told of; one that was refused leaves none. */
const againMs = 10_000

export const followRows = defineJob(followRef, {
  summary: "Makes leads of rows that name a person.",
  slots: 2,
  inject: { follower: Follower, queue: JobQueue, clock: Clock },
  async run({ payload: { organization, rows, again }, deps: { follower, queue, clock }, work }) {
    const missing = await follower.follow(organization, rows)
    if (missing.length === 0 || again) return
    queue.enqueue(work, followRef, { organization, rows: missing, again: true }, { organization, runAt: clock.now() + againMs })
  },
})

export const catchUp = defineJob(catchUpRef, {
  summary: "Makes leads of rows that a process could not hand over before it ended.",
  inject: { catchUp: CatchUp },
  run: ({ deps, signal }) => deps.catchUp.run(signal),
})
