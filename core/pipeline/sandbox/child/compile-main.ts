// The compile child: takes schema and transform as text, answers the program's two sources or what is wrong with them.
// Its watching thread ends it when one takes too long.
import { Worker } from "node:worker_threads"
import type { ProgramProblem } from "../sandbox.ts"
import { cells, groupAt, idle } from "./hand.ts"
import { openPipe } from "./pipe.ts"
import { transformSource } from "./transform-source.ts"
import { validatorSource } from "./validator-source.ts"

export interface Compiled {
  readonly validator: string | null
  readonly transform: string | null
  readonly problems: readonly ProgramProblem[]
}

function compile(schemaText: string, hasTransform: boolean, transform: string): Compiled {
  const schema: unknown = schemaText === "" ? null : JSON.parse(schemaText)
  const validator = schema === null ? null : validatorSource(schema)
  const transformed = hasTransform ? transformSource(transform) : null
  return {
    validator: validator && "text" in validator ? validator.text : null,
    transform: transformed && "text" in transformed ? transformed.text : null,
    problems: [validator, transformed].flatMap((each) => (each && "problems" in each ? each.problems : [])),
  }
}

const shared = new SharedArrayBuffer(cells * Int32Array.BYTES_PER_ELEMENT)
const hand = new Int32Array(shared)

const send = openPipe(([id = "", schema = "", hasTransform = "", transform = ""]) => {
  Atomics.store(hand, groupAt, Number(id))
  Atomics.notify(hand, groupAt)
  const compiled = compile(schema, hasTransform === "1", transform)
  Atomics.store(hand, groupAt, idle)
  send([id, JSON.stringify(compiled)])
})

const watchdog = new Worker(new URL("./watchdog.ts", import.meta.url), {
  workerData: { shared, hardDeadlineMs: Number(process.argv[2]) },
})
watchdog.once("online", () => send(["ready"]))
watchdog.once("error", (error) => {
  throw error
})
