// Runs programs that only check and rearrange fields, in this process. A program is a schema of plain keywords and a transform of
// one expression. Both are data from the compiler in its isolate, and this file never evaluates an author's text.
// An accepted body gives the same result as the isolate. For any other body the result is undefined, and the isolate decides and
// reports the reason. The work is at most a few times the body's length, so it needs no isolate's deadline.
import { z } from "zod"
import type { MappedResult, SandboxCall } from "../sandbox.ts"
import { type Body, readBody } from "../text/body.ts"
import { holdsProto, resultText } from "../text/result.ts"
import { Checks, checker } from "./check.ts"
import { Expressions, evaluator, readsIn } from "./expression.ts"

/** The parts of a program. null for an absent part. */
export const Mapping = z.strictObject({ check: Checks.nullable(), result: Expressions.nullable() })
export type Mapping = z.output<typeof Mapping>

/** Maximum length as JSON, and maximum depth. An isolate runs larger programs. */
const maxMappingLength = 32_768
const maxMappingDepth = 100
/** Maximum characters of all reads of an event. */
const maxReadLength = 131_072
const maxBodyLength = 16_384

/** Checks the compiler's answer. Returns null if it is not a mapping. */
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

/** Returns the program's result for the body. Returns undefined if the isolate must run the program. */
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
    // The isolate finds the same problem and reports it.
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
