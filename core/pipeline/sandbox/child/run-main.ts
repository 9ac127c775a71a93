// A run child: takes groups of events of one pipeline each, runs them in that pipeline's isolate under one timeout, and
// sends their results back as they came out of it. What the timeout or the memory limit cut short is named; the rest of
// such a group goes back untouched.
import { Worker } from "node:worker_threads"
import { cells, groupAt, idle, indexAt } from "./hand.ts"
import { Isolates, type Runner } from "./isolates.ts"
import { openPipe } from "./pipe.ts"

const [memoryMb = "", timeout = "", hardDeadline = "", mostIsolates = ""] = process.argv.slice(2)
const timeoutMs = Number(timeout)
/** Below this share of the timeout in CPU time an event was kept waiting rather than slow, and is given another try. */
const busyShare = 0.5
const tries = 12

const shared = new SharedArrayBuffer(cells * Int32Array.BYTES_PER_ELEMENT)
const hand = new Int32Array(shared)
let isolates: Isolates | undefined
let groups = 0

// The parent may send work only after "ready", and its first frame is the bundle.
const send = openPipe((parts) => {
  const [kind = "", a = "", b = "", c = "", d = "", e = "", f = ""] = parts
  if (kind === "bundle") {
    isolates = new Isolates({ bundle: a, memoryMb: Number(memoryMb), most: Number(mostIsolates), shared, timeoutMs: timeoutMs * 4 })
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
  for (let tried = 1; ; tried++) {
    const before = runner.isolate.cpuTime
    try {
      send(["done", group.id, runner.run.applySync(undefined, [group.batch], { timeout: timeoutMs }), ""])
      return
    } catch (error) {
      if (runner.isolate.isDisposed) {
        all.drop(group.key)
        // Results of the others went with the isolate; the event in hand is the one to blame.
        send(["lost", group.id, String(hand[indexAt]), JSON.stringify({ kind: "memory", message: "The transform ran out of memory." })])
        return
      }
      const finished = runner.finished.applySync(undefined, [], { timeout: timeoutMs * 4 })
      const spentMs = Number(runner.isolate.cpuTime - before) / 1e6
      if (finished === "\n" && isTimeout(error) && spentMs < timeoutMs * busyShare && tried < tries) continue
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

const watchdog = new Worker(new URL("./watchdog.ts", import.meta.url), { workerData: { shared, hardDeadlineMs: Number(hardDeadline) } })
watchdog.once("online", () => send(["ready"]))
watchdog.once("error", (error) => {
  throw error
})
