// Programs that only check and rearrange fields, run in this process: a schema of plain keywords and a transform of one
// expression, as data that the compiler in its isolate made of them; text of an author is never evaluated here. A body that
// passes gives what the isolate would give; for any other undefined, and the isolate decides and says why. That a body is
// never asked for more than a few times its length of work is what allows it outside of an isolate's deadline.
import { z } from "zod"
import type { MappedResult, SandboxCall } from "../sandbox.ts"
import { type Body, readBody } from "../text/body.ts"
import { holdsProto, resultText } from "../text/result.ts"
import { Checks, checker } from "./check.ts"
import { Expressions, evaluator, readsIn } from "./expression.ts"

/** What a program does; null for a part that it does not have. */
export const Mapping = z.strictObject({ check: Checks.nullable(), result: Expressions.nullable() })
export type Mapping = z.output<typeof Mapping>

/** As JSON, and how deep it nests; a program of more is run by an isolate. */
const maxMappingLength = 32_768
const maxMappingDepth = 100
/** Characters that all reads of one event may come to. */
const maxReadLength = 131_072
const maxBodyLength = 16_384

/** What the compiler answered, checked; null where it is not a mapping. */
export function readMapping(given: unknown): Mapping | null {
  const text = JSON.stringify(given)
  if (text === undefined || text.length > maxMappingLength || depthOf(text) > maxMappingDepth) return null
  return Mapping.nullable().safeParse(given).data ?? null
}

function depthOf(json: string): number {
  let [depth, deepest] = [0, 0]
  for (const sign of json) {
    if (sign === "{" || sign === "[") deepest = Math.max(deepest, ++depth)
    else if (sign === "}" || sign === "]") depth--
  }
  return deepest
}

interface Prepared {
  readonly accepts: (value: unknown) => boolean
  readonly result: ((event: unknown) => unknown) | null
  readonly maxLength: number
}

const prepared = new WeakMap<Mapping, Prepared>()

/** What the program makes of the body; undefined where its isolate is to be asked. */
export function mapped({
  program,
  body: text,
  script,
  wantsPayload,
}: Pick<SandboxCall, "program" | "body" | "script" | "wantsPayload">): MappedResult | undefined {
  const { mapping } = program
  if (!mapping || script || text.length > maxBodyLength) return undefined
  const { accepts, result, maxLength } = preparedOf(mapping)
  if (text.length > maxLength) return undefined
  try {
    const body = readBody(text)
    if (!accepts(body.value)) return undefined
    const event = result ? resultText(result(body.exact)) : eventOf(body, text)
    if (event === undefined) return undefined
    const payload = wantsPayload ? (body.asGiven ? text : JSON.stringify(body.exact)) : null
    return { ok: true, event, payload, envelope: body.envelope || null, isTest: body.test === "-" ? null : body.test === "t" }
  } catch {
    // The isolate finds it too, and says it.
    return undefined
  }
}

/** Without a transform the event is the payload. */
function eventOf({ exact, asGiven }: Body, text: string): string | undefined {
  if (typeof exact !== "object" || exact === null) return undefined
  if (/__proto__|\\u/.test(text) && holdsProto(JSON.stringify(exact))) return undefined
  return asGiven ? text : JSON.stringify(exact)
}

function preparedOf(mapping: Mapping): Prepared {
  const known = prepared.get(mapping)
  if (known) return known
  const { check, result } = mapping
  const made: Prepared = {
    accepts: check ? checker(check) : () => true,
    result: result && evaluator(result),
    maxLength: result ? maxReadLength / Math.max(1, readsIn(result)) : maxBodyLength,
  }
  prepared.set(mapping, made)
  return made
}
