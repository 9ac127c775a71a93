// The compile child: carries texts into its isolate and what the isolate answers back. Nothing that a user wrote, and
// nothing that is made of it, is evaluated in this process outside of the isolate. Its watching thread ends the process
// when a program takes too long.
import { Worker } from "node:worker_threads"
import ivm from "isolated-vm"
import { cells, groupAt, idle } from "./hand.ts"
import { openPipe } from "./pipe.ts"

const [hardDeadlineMs = "", memoryMb = ""] = process.argv.slice(2)
const shared = new SharedArrayBuffer(cells * Int32Array.BYTES_PER_ELEMENT)
const hand = new Int32Array(shared)

let isolate: ivm.Isolate | undefined
let compile: ivm.Reference<(schema: string, transform: string | null) => string> | undefined

// The parent's first frame is the bundle; it may send work once "ready" has come back.
const send = openPipe((parts) => {
  const [kind = "", a = "", schema = "", hasTransform = "", transform = ""] = parts
  if (kind === "bundle") {
    open(a)
    send(["ready"])
  } else if (kind === "compile") answer(a, schema, hasTransform === "1" ? transform : null)
})

function open(bundle: string): void {
  isolate = new ivm.Isolate({ memoryLimit: Number(memoryMb) })
  const context = isolate.createContextSync()
  compile = context.evalClosureSync(`${bundle};millraceCompiler.warm();return millraceCompiler.compile`, [], {
    result: { reference: true },
    filename: "millrace-compiler.js",
  }) as typeof compile
}

function answer(id: string, schema: string, transform: string | null): void {
  Atomics.store(hand, groupAt, Number(id))
  Atomics.notify(hand, groupAt)
  try {
    send([id, "compiled", String(compile?.applySync(undefined, [schema, transform]))])
  } catch (error) {
    send([id, isolate?.isDisposed ? "memory" : "failed", error instanceof Error ? error.message.slice(0, 500) : ""])
    // An isolate that ran out of memory is gone, and one that threw may be in any state.
    setImmediate(() => process.exit(1))
  } finally {
    Atomics.store(hand, groupAt, idle)
  }
}

const watchdog = new Worker(new URL("./watchdog.ts", import.meta.url), {
  workerData: { shared, hardDeadlineMs: Number(hardDeadlineMs) },
})
watchdog.once("online", () => send(["online"]))
watchdog.once("error", (error) => {
  throw error
})
