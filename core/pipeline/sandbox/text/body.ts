// Reads an event's body. It parses the body once, removes the page envelope and the test marker, and locates errors in the JSON.
import { exactJson } from "../../../kernel/json.ts"
import { jsonFault } from "../../../kernel/json-fault.ts"
import { maxDepth, nestsTooDeep } from "./json-depth.ts"
import { hasUnstorableText, unstorableText } from "./unstorable-text.ts"

type Fields = Record<string, unknown>

export interface Body {
  /** Value for the schema. */
  readonly value: unknown
  /** Value for transform and templates. Long integers are strings of their digits. */
  readonly exact: unknown
  /** JSON text, or "" if the body had no envelope. */
  readonly envelope: string
  /** "t", "f" or "-". */
  readonly test: string
  /** True if `exact` equals the text, so the text itself can be used. */
  readonly asGiven: boolean
}

export class MalformedBody extends Error {
  /** JSON pointer to the invalid field, or "" for the whole body. */
  readonly pointer: string

  constructor(message: string, pointer = "") {
    super(message)
    this.pointer = pointer
  }
}

/** Matches both kinds of numbers below. This search takes a tenth of the time. */
const unusualNumber = /\d(?:\d{15}|[eE]\+?\d{3})/
const longInteger = /\d{16}/
/** Matches numbers that may exceed a double. */
const hugeNumber = /[eE]\+?\d{3}|\d{309}/
const integer = /^-?\d+$/

/** Reads a script's input without removals. Throws MalformedBody. */
export function readInput(text: string): Body {
  const value = parse(text)
  return { value, exact: value, envelope: "", test: "-", asGiven: true }
}

/** Throws MalformedBody with the position. */
export function readBody(text: string): Body {
  const value = parse(text)
  if (hasUnstorableText(text)) refuseUnstorable(value)
  const exact = unusualNumber.test(text) && longInteger.test(text) ? exactJson(text) : value
  const taken = takeOut(value, text)
  if (exact !== value) takeOut(exact, text)
  return {
    value,
    exact,
    envelope: taken.envelope === undefined ? "" : JSON.stringify(taken.envelope),
    test: taken.test,
    asGiven: exact === value && !taken.changed,
  }
}

function parse(text: string): unknown {
  try {
    if (nestsTooDeep(text)) throw new MalformedBody(`The body nests deeper than ${maxDepth} levels.`)
    return unusualNumber.test(text) && hugeNumber.test(text) ? JSON.parse(text, refuseInfinite) : JSON.parse(text)
  } catch (error) {
    if (error instanceof MalformedBody) throw error
    if (text.trim() === "") throw new MalformedBody("The body is empty; send JSON.")
    const { fault, offset, line, column } = jsonFault(text)
    throw new MalformedBody(`The body is not JSON: ${fault} at position ${offset} (line ${line}, column ${column}).`)
  }
}

function refuseUnstorable(value: unknown): void {
  const found = unstorableText(value)
  if (found) throw new MalformedBody(`The body ${found.problem}.`, found.pointer)
}

function refuseInfinite(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== "number" || Number.isFinite(value) || integer.test(context?.source ?? "")) return value
  throw new MalformedBody(`The number ${(context?.source ?? "").slice(0, 40)} in the body is too large for a number; send it as a string.`)
}

interface Taken {
  envelope: Fields | undefined
  test: string
  changed: boolean
}

function takeOut(body: unknown, text: string): Taken {
  const taken: Taken = { envelope: undefined, test: "-", changed: false }
  if (!isFields(body)) return taken
  if (Object.hasOwn(body, "_envelope") && isFields(body["_envelope"])) {
    taken.envelope = body["_envelope"]
    delete body["_envelope"]
    taken.changed = true
  }
  if (text.includes('"_envelope.')) takeFormFields(body, taken)
  if (Object.hasOwn(body, "is_test")) {
    const marker = body["is_test"]
    if (marker === true) taken.test = "t"
    else if (marker === false) taken.test = "f"
    delete body["is_test"]
    taken.changed = true
  }
  return taken
}

/** Moves form fields such as `_envelope.page_url` into the envelope. A value in the envelope object takes precedence. */
function takeFormFields(body: Fields, taken: Taken): void {
  for (const key of Object.keys(body)) {
    if (!key.startsWith("_envelope.")) continue
    taken.envelope ??= {}
    const name = key.slice("_envelope.".length)
    if (!Object.hasOwn(taken.envelope, name)) {
      Object.defineProperty(taken.envelope, name, { value: body[key], enumerable: true, configurable: true, writable: true })
    }
    delete body[key]
    taken.changed = true
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
