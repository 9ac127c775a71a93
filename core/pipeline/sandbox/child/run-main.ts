// A run child: takes groups of events of one pipeline each, runs them in that pipeline's isolate under one timeout, and
// sends their results back as they came out of it. What the timeout or the memory limit cut short is named; the rest of
// such a group goes back untouched.
import { cpuMs, Hand } from "./hand.ts"
import { Isolates, type ProgramText, type Runner } from "./isolates.ts"
import { endChild, openChild, type Send } from "./open-child.ts"

const [memoryMb = "", timeout = "", hardDeadline = "", maxIsolates = ""] = process.argv.slice(2)
const hardDeadlineMs = Number(hardDeadline)
/**
 * Below this share of the timeout in CPU time an event was kept waiting rather than slow, and is given another try, twice
 * as long.
 */
const busyShare = 0.75
/** Tries of one event, and what is done besides, end before the child ends itself for its wall time (hand.ts). */
const maxTotalMs = hardDeadlineMs * 3

/**
 * Reading and checking JSON is the work of the service, so a text has a millisecond more for so many characters. A slow
 * processor reads 20,000 characters in a millisecond.
 */
const lengthPerMs = 8_192

const hand = new Hand(hardDeadlineMs)
let isolates: Isolates

interface Group {
  readonly id: string
  readonly key: string
  readonly digest: string
  /** Null where the child has it already. */
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

/** One group after the other: their isolates share the process's deadline. */
async function runWaiting(send: Send): Promise<void> {
  running = true
  for (let group = waiting.shift(); group; group = waiting.shift()) {
    hand.take(group.id)
    send(await outcomeOf(group))
    hand.leave()
  }
  running = false
}

/** `done` (results of those that finished, the failure of the one that did not), `lost` (to blame for it) or `need` (the program). */
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
  // isolated-vm takes a stack trace of each call, which costs as much as four events from further up the stack.
  await undefined
  for (let allowedMs = timeoutMs, triesMs = timeoutMs; ; allowedMs *= 2, triesMs += allowedMs) {
    const before = cpuMs()
    try {
      return ["done", group.id, await runner.run.apply(undefined, [group.batch], { timeout: allowedMs }), ""]
    } catch (error) {
      if (runner.isolate.isDisposed) {
        isolates.drop(group.key)
        // Results of the others went with the isolate; the event in hand is the one to blame.
        return ["lost", group.id, String(hand.index), JSON.stringify({ kind: "memory", message: "The transform ran out of memory." })]
      }
      const usedMs = cpuMs() - before
      const finished = await runner.finished.apply(undefined, [], { timeout: maxTotalMs })
      const kept = usedMs < timeoutMs * busyShare
      if (finished === "\n" && isTimeout(error) && kept && triesMs + allowedMs * 2 <= maxTotalMs) continue
      // Behind others it had less than its time: it goes back and stands first in its next group.
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
