// The compile child: takes schema and transform as text, answers the program's two sources or what is wrong with them.
// The parent ends it when one takes too long.
import type { ProgramProblem } from "../sandbox.ts"
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

const send = openPipe(([id = "", schema = "", hasTransform = "", transform = ""]) => {
  send([id, JSON.stringify(compile(schema, hasTransform === "1", transform))])
})
send(["ready"])
