// A run child: takes groups of events of one pipeline each, runs them in that pipeline's isolate under one timeout, and
// sends their results back as they came out of it. What the timeout or the memory limit cut short is named; the rest of
// such a group goes back untouched.
import { Worker } from "node:worker_threads"
import { cells, groupAt, idle, indexAt } from "./hand.ts"
import { Isolates, type Runner } from "./isolates.ts"
import { openPipe } from "./pipe.ts"

const [memoryMb = "", timeout = "", hardDeadline = "", mostIsolates = ""] = process.argv.slice(2)
const timeoutMs = Number(timeout)
const hardDeadlineMs = Number(hardDeadline)
/** Below this share of the timeout in CPU time an event was kept waiting rather than slow, and is given another try, twice as long. */
const busyShare = 0.5
/** Tries of one event, and what is done besides, end before the watching thread ends the process for its wall time (watchdog.ts). */
const mostTriesMs = hardDeadlineMs * 3

const shared = new SharedArrayBuffer(cells * Int32Array.BYTES_PER_ELEMENT)
const hand = new Int32Array(shared)
let isolates: Isolates | undefined
let groups = 0

// The parent may send work only after "ready", and its first frame is the bundle.
const send = openPipe((parts) => {
  const [kind = "", a = "", b = "", c = "", d = "", e = "", f = ""] = parts
  if (kind === "bundle") {
    isolates = new Isolates({ bundle: a, memoryMb: Number(memoryMb), most: Number(mostIsolates), shared, timeoutMs: mostTriesMs })
  } else if (kind === "forget") isolates?.drop(a)
  else if (kind === "run" && isolates)
    runGroup(isolates, { id: a, key: b, digest: c, program: d === "" ? null : { validator: e, transform: f }, batch: parts[7] ?? "" })
})

interface Group {
  readonly id: string
  readonly key: string
  readonly digest: string
  readonly program: { validator: string; transform: string } | null
  readonly batch: string
}

/** Answers `done` (results of those that finished, the failure of the one that did not) or `need` (the program). */
function runGroup(all: Isolates, group: Group): void {
  hand[indexAt] = 0
  groups = Number(group.id)
  Atomics.store(hand, groupAt, groups)
  Atomics.notify(hand, groupAt)
  try {
    const found = all.find(group.key, group.digest)
    if (!found && !group.program) {
      send(["need", group.id])
      return
    }
    const runner = found ?? all.make(group.key, group.digest, group.program as { validator: string; transform: string })
    answer(all, group, runner)
  } catch (error) {
    send(["done", group.id, "", failureOf(error)])
  } finally {
    Atomics.store(hand, groupAt, idle)
  }
}

function answer(all: Isolates, group: Group, runner: Runner): void {
  for (let allowedMs = timeoutMs, triesMs = timeoutMs; ; allowedMs *= 2, triesMs += allowedMs) {
    // The thread's, not the isolate's own, which counts what it waits for the processor as well.
    const before = process.threadCpuUsage()
    try {
      send(["done", group.id, runner.run.applySync(undefined, [group.batch], { timeout: allowedMs }), ""])
      return
    } catch (error) {
      if (runner.isolate.isDisposed) {
        all.drop(group.key)
        // Results of the others went with the isolate; the event in hand is the one to blame.
        send(["lost", group.id, String(hand[indexAt]), JSON.stringify({ kind: "memory", message: "The transform ran out of memory." })])
        return
      }
      const { user, system } = process.threadCpuUsage(before)
      const finished = runner.finished.applySync(undefined, [], { timeout: mostTriesMs })
      const kept = (user + system) / 1_000 < timeoutMs * busyShare
      if (finished === "\n" && isTimeout(error) && kept && triesMs + allowedMs * 2 <= mostTriesMs) continue
      // Behind others it had less than its time: it goes back and stands first in its next group.
      send(["done", group.id, finished === "\n" ? "" : finished, finished === "\n" ? failureOf(error) : ""])
      return
    }
  }
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("Script execution timed out")
}

function failureOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  if (isTimeout(error)) return JSON.stringify({ kind: "timeout", message: `The transform or schema took longer than ${timeoutMs} ms.` })
  if (/disposed|memory limit|allocation failed/i.test(message))
    return JSON.stringify({ kind: "memory", message: "The transform ran out of memory." })
  return JSON.stringify({ kind: "threw", message: message.slice(0, 500) })
}

const watchdog = new Worker(new URL("./watchdog.ts", import.meta.url), { workerData: { shared, hardDeadlineMs } })
watchdog.once("online", () => send(["ready"]))
watchdog.once("error", (error) => {
  throw error
})
