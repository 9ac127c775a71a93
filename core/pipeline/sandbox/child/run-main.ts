// A run child. Each of its groups contains events of a single pipeline. The child runs a group in the pipeline's isolate under
// one timeout, and returns the unmodified results. After a timeout or memory failure it names the event, and returns the rest of
// the group unprocessed.
import { cpuMs, Hand } from "./hand.ts"
import { Isolates, type ProgramText, type Runner } from "./isolates.ts"
import { endChild, openChild, type Send } from "./open-child.ts"

const [memoryMb = "", timeout = "", hardDeadline = "", maxIsolates = ""] = process.argv.slice(2)
const hardDeadlineMs = Number(hardDeadline)
/** Below this share of the timeout in CPU time, an event was waiting for the CPU. It has another try with twice the time. */
const busyShare = 0.75
/** Limits all tries of an event and their overhead. It ends before the child ends itself for its wall time (hand.ts). */
const maxTotalMs = hardDeadlineMs * 3

/**
 * The service reads and checks JSON, so a text gets an additional millisecond per this many characters. A slow processor reads
 * 20,000 characters in a millisecond.
 */
const lengthPerMs = 8_192

const hand = new Hand(hardDeadlineMs)
let isolates: Isolates

interface Group {
  readonly id: string
  readonly key: string
  readonly digest: string
  /** Null if the child already has the program. */
  readonly program: ProgramText | null
  readonly batch: string
  readonly timeoutMs: number
}

const waiting: Group[] = []
let running = false

openChild({
  load(bundle) {
    isolates = new Isolates({
      bundle,
      memoryMb: Number(memoryMb),
      most: Number(maxIsolates),
      shared: hand.shared,
      timeoutMs: maxTotalMs,
    })
    isolates.rehearse()
  },
  onFrame(parts, send) {
    const [kind = "", a = "", b = "", c = "", d = "", e = "", f = "", batch = "", deadline = ""] = parts
    if (kind === "forget") isolates.drop(a)
    if (kind !== "run") return
    waiting.push({
      id: a,
      key: b,
      digest: c,
      program: d === "" ? null : { validator: e, transform: f },
      batch,
      timeoutMs: Number(deadline || timeout) + Math.floor(batch.length / lengthPerMs),
    })
    if (!running) runWaiting(send).catch(endChild)
  },
})

/** Runs groups one after another, because their isolates share the process's deadline. */
async function runWaiting(send: Send): Promise<void> {
  running = true
  for (let group = waiting.shift(); group; group = waiting.shift()) {
    hand.take(group.id)
    send(await outcomeOf(group))
    hand.leave()
  }
  running = false
}

/**
 * Returns `done` (results of finished events and at most one failure), `lost` (with the responsible event) or `need` (the
 * program).
 */
async function outcomeOf(group: Group): Promise<string[]> {
  try {
    const found = isolates.find(group.key, group.digest)
    if (!found && !group.program) return ["need", group.id]
    const runner = found ?? (await isolates.make(group.key, group.digest, group.program as ProgramText))
    return await results(group, runner)
  } catch (error) {
    return ["done", group.id, "", failureOf(error, group.timeoutMs)]
  }
}

async function results(group: Group, runner: Runner): Promise<string[]> {
  const { timeoutMs } = group
  // isolated-vm captures a stack trace on each call. From deeper in the stack this costs as much as four events.
  await undefined
  for (let allowedMs = timeoutMs, triesMs = timeoutMs; ; allowedMs *= 2, triesMs += allowedMs) {
    const before = cpuMs()
    try {
      return ["done", group.id, await runner.run.apply(undefined, [group.batch], { timeout: allowedMs }), ""]
    } catch (error) {
      if (runner.isolate.isDisposed) {
        isolates.drop(group.key)
        // The isolate's other results are lost with it. The current event is responsible.
        return ["lost", group.id, String(hand.index), JSON.stringify({ kind: "memory", message: "The transform ran out of memory." })]
      }
      const usedMs = cpuMs() - before
      const finished = await runner.finished.apply(undefined, [], { timeout: maxTotalMs })
      const kept = usedMs < timeoutMs * busyShare
      if (finished === "\n" && isTimeout(error) && kept && triesMs + allowedMs * 2 <= maxTotalMs) continue
      // The event shared its time with earlier events of the group. It returns to the queue and is first in its next group.
      if (finished !== "\n") return ["done", group.id, finished, ""]
      const lines = await runner.lines.apply(undefined, [], { timeout: maxTotalMs })
      return ["done", group.id, "", failureOf(error, timeoutMs, lines)]
    }
  }
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("Script execution timed out")
}

function failureOf(error: unknown, timeoutMs: number, lines = ""): string {
  const message = error instanceof Error ? error.message : String(error)
  if (isTimeout(error)) {
    const logs = lines === "" ? {} : { logs: JSON.parse(lines) as unknown }
    return JSON.stringify({ kind: "timeout", message: `The transform or schema timed out after ${timeoutMs} ms.`, ...logs })
  }
  if (/disposed|memory limit|allocation failed/i.test(message))
    return JSON.stringify({ kind: "memory", message: "The transform ran out of memory." })
  return JSON.stringify({ kind: "threw", message: message.slice(0, 500) })
}
