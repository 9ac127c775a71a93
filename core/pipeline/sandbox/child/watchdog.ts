// The thread of a child that watches the event in hand, or the program being compiled, and ends the whole process when
// one outstays the hard deadline: V8's own timeout does not stop native calls. It names what it was to the parent first.
// The deadline is of CPU time, so that a child that was not given the processor is not blamed; twelve times it in wall
// time ends it anyway, of which what this thread slept too long, because the process or the machine stood still, does
// not count.
import { writeSync } from "node:fs"
import { workerData } from "node:worker_threads"
import { frameOf } from "../wire.ts"
import { groupAt, idle, indexAt, restAt } from "./hand.ts"

const reportFd = 4
const { shared, hardDeadlineMs } = workerData as { shared: SharedArrayBuffer; hardDeadlineMs: number }
const hand = new Int32Array(shared)
const hardWallMs = hardDeadlineMs * 12
const pauseMs = Math.max(5, Math.floor(hardDeadlineMs / 12))

function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

let seen = ""
let cpuAtStart = 0
let wallMs = 0
let lookedAt = 0

for (;;) {
  Atomics.wait(hand, groupAt, idle)
  const group = Atomics.load(hand, groupAt)
  const index = Atomics.load(hand, indexAt)
  const now = `${group}/${index}`
  const at = performance.now()
  wallMs += Math.min(at - lookedAt, 2 * pauseMs)
  lookedAt = at
  if (group !== idle && now !== seen) {
    seen = now
    cpuAtStart = cpuMs()
    wallMs = 0
  } else if (group !== idle && (cpuMs() - cpuAtStart > hardDeadlineMs || wallMs > hardWallMs)) {
    writeSync(reportFd, frameOf([String(group), String(index)]))
    process.kill(process.pid, "SIGKILL")
  }
  Atomics.wait(hand, restAt, 0, pauseMs)
}
