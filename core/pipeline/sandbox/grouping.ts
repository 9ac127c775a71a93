// Which waiting calls of a pipeline go to a run child together: of one program, few and short enough, and one that is to
// run alone by itself.
import type { Job } from "./job.ts"

const maxInGroup = 64
/** Characters of bodies and contexts. */
const maxGroupLength = 262_144

/** How many of the calls that wait, oldest first, make the next group; at least one. */
export function groupSize(waiting: readonly Job[]): number {
  const [first] = waiting
  if (!first) return 0
  let length = 0
  let count = 0
  for (const job of waiting) {
    length += job.call.body.length + job.call.context.length
    const fits = count === 0 || (count < maxInGroup && length <= maxGroupLength && !job.alone && !first.alone)
    if (!fits || job.call.program.digest !== first.call.program.digest) break
    if (job.call.script?.deadlineMs !== first.call.script?.deadlineMs) break
    count++
  }
  return count
}
