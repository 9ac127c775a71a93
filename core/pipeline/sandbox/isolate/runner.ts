// Runs programs inside an isolate. A batch of events is a single text, and so are its results. The host calls `run` under a
// timeout. After a timeout, `finished` still returns the earlier results.

import equal from "ajv/dist/runtime/equal.js"
import ucs2length from "ajv/dist/runtime/ucs2length.js"
import { type Body, MalformedBody, readBody, readInput } from "../text/body.ts"
import { BadResult, holdsProto, resultText } from "../text/result.ts"
import { fieldsOut, pack, unpack } from "../wire.ts"
import { forgetLines, linesText } from "./console.ts"
import { moment } from "./determinism.ts"
import { formats } from "./formats/index.ts"
import { lockdown } from "./lockdown.ts"
import { type Problem, problemsOf, type Validators } from "./schema-problems.ts"

/** Value of a compiled transform's text. */
interface Transform {
  readonly run: (event: unknown, context?: unknown) => unknown
  /** Functions and literals of the top level. */
  readonly held: readonly unknown[]
  readonly wantsContext: boolean
}

export interface Runner {
  run(batch: string): string
  finished(): string
  /** Lines of the current event so far (console.ts). */
  lines(): string
}

/** Strings per event in a batch: flags and time, body, context, seed. */
const fieldsIn = 4
const maxMessageLength = 500

let hand: Int32Array
/** Cell of the current event's index. */
const indexAt = 1

/** Called once, before any foreign code enters. A thread of the host watches `shared`. */
export function seal(shared: SharedArrayBuffer): void {
  hand = new Int32Array(shared)
  lockdown()
}

export function prepare(makeValidators: ((require: unknown) => Validators) | null, makeTransform: (() => Transform) | null): Runner {
  const validators = makeValidators?.(requireFromValidator) ?? null
  const transform = makeTransform?.() ?? null
  const seen = new Set<unknown>()
  for (const each of transform?.held ?? []) freezeDeep(each, seen)
  let out: string[] = []
  return {
    run(batch) {
      out = []
      const parts = unpack(batch)
      for (let i = 0; i * fieldsIn < parts.length; i++) {
        hand[indexAt] = i
        const at = i * fieldsIn
        const flags = parts[at] ?? ""
        moment.now = Number(flags.slice(1))
        moment.seed = parts[at + 3] ?? ""
        moment.draw = undefined
        forgetLines()
        const [meta, event, payload, envelope] = answer(parts[at + 1] ?? "", parts[at + 2] ?? "", flags.charAt(0), validators, transform)
        out.push(meta, event, payload, envelope, linesText())
      }
      return pack(out)
    },
    finished: () => pack(out.slice(0, out.length - (out.length % fieldsOut))),
    lines: linesText,
  }
}

type WireResult = readonly [meta: string, event: string, payload: string, envelope: string]

/**
 * For a success `meta` has four characters: "o", the test marker, the mark of the event and the mark of the payload. The mark "s"
 * means equal to the body's text. For a failure `meta` is "e", and `event` is JSON of the failure.
 */
function answer(text: string, context: string, kind: string, validators: Validators | null, transform: Transform | null): WireResult {
  let body: Body
  try {
    body = kind === "r" ? readInput(text) : readBody(text)
  } catch (error) {
    const message = error instanceof MalformedBody ? error.message : "The body is nested too deeply."
    const pointer = error instanceof MalformedBody ? error.pointer : ""
    return failure({ kind: "malformed", message, errors: [{ pointer, message }] })
  }
  if (validators) {
    const problems = problemsOf(validators, body.value, text.length)
    if (problems.length > 0) return failure({ kind: "invalid", message: "The body does not match the request schema.", errors: problems })
  }
  if (!transform && (typeof body.exact !== "object" || body.exact === null)) {
    const message = "The body is a single value; send an object or a list."
    return failure({ kind: "malformed", message, errors: [{ pointer: "", message }] })
  }
  if (!transform && /__proto__|\\u/.test(text) && holdsProto(JSON.stringify(body.exact))) {
    const message = 'The body has a property named "__proto__", which can\'t be kept.'
    return failure({ kind: "malformed", message, errors: [{ pointer: "", message }] })
  }
  const event = transform ? transformed(transform, body, context) : null
  if (event !== null && typeof event !== "string") return failure(event)
  return success(body, event, kind === "p")
}

/** `event` is null without a transform, and then equals the payload. A result equal to the body's text is not sent back. */
function success(body: Body, event: string | null, wantsPayload: boolean): WireResult {
  const exact = body.asGiven || (event !== null && !wantsPayload) ? "" : JSON.stringify(body.exact)
  const payloadMark = wantsPayload ? (body.asGiven ? "s" : "p") : "-"
  const meta = `o${body.test}${event === null && body.asGiven ? "s" : "-"}${payloadMark}`
  return [meta, event ?? exact, wantsPayload ? exact : "", body.envelope]
}

interface Failure {
  readonly kind: string
  readonly message: string
  readonly errors?: readonly Problem[]
  readonly line?: number
}

function failure(failed: Failure): WireResult {
  return ["e", JSON.stringify(failed), "", ""]
}

function transformed(transform: Transform, body: Body, context: string): string | Failure {
  try {
    const result = transform.wantsContext ? transform.run(body.exact, contextOf(body, context)) : transform.run(body.exact)
    return resultText(result)
  } catch (error) {
    // The thrown value may be anything, even an object with throwing getters.
    try {
      return describe(error)
    } catch {
      return { kind: "threw", message: "The transform threw a value that can't be shown." }
    }
  }
}

/** The host provides headers, query and time, and the fields that override the body's envelope. */
function contextOf({ envelope }: Body, text: string): object {
  const known = JSON.parse(text === "" ? "{}" : text) as { envelope?: object }
  return { ...known, envelope: { ...(envelope === "" ? {} : (JSON.parse(envelope) as object)), ...known.envelope } }
}

function describe(error: unknown): Failure {
  if (error instanceof BadResult) return { kind: "bad_result", message: `${error.message}.` }
  if (!(error instanceof Error)) return { kind: "threw", message: `The transform threw ${shown(error)}.` }
  const message = String(error.message)
  if (error instanceof RangeError && message === "Array buffer allocation failed") {
    return { kind: "memory", message: "The transform ran out of memory." }
  }
  if (error instanceof TypeError && message.startsWith("Converting circular structure")) {
    return { kind: "bad_result", message: "transform's result contains itself, which JSON cannot represent." }
  }
  const line = /transform\.js:(\d+)/.exec(String(error.stack))?.[1]
  const thrown: Failure = { kind: "threw", message: `${String(error.name)}: ${message}`.slice(0, maxMessageLength) }
  return line === undefined ? thrown : { ...thrown, line: Number(line) }
}

function shown(thrown: unknown): string {
  return typeof thrown === "object" && thrown !== null ? "an object that is not an Error" : String(thrown).slice(0, maxMessageLength)
}

/** Freezes a transform's own functions and literals, with all nested values. */
function freezeDeep(value: unknown, seen: Set<unknown>): void {
  if (value === null || (typeof value !== "object" && typeof value !== "function") || seen.has(value)) return
  seen.add(value)
  Object.freeze(value)
  for (const key of Reflect.ownKeys(value)) {
    const held = Object.getOwnPropertyDescriptor(value, key)
    for (const each of [held?.value, held?.get, held?.set]) freezeDeep(each, seen)
  }
}

const modules: Record<string, unknown> = {
  "ajv/dist/runtime/equal": equal,
  "ajv/dist/runtime/ucs2length": ucs2length,
  "millrace/formats": { formats },
}

/** Provides the few modules that ajv's generated code requires. Every isolate includes them. */
function requireFromValidator(name: string): unknown {
  if (!Object.hasOwn(modules, name)) throw new Error(`A validator requires "${name}", which isolates do not have.`)
  return modules[name]
}
