// Compares a value with the expectation of a test, and lists the differences.
import { isDeepStrictEqual } from "node:util"
import type { Json } from "../contract/collection.ts"

export interface Difference {
  /** Path, such as `response.body.ok` or `emails[0].subject`. */
  readonly at: string
  /** Undefined: no expected value. */
  readonly expected: Json | undefined
  /** Undefined: no actual value. */
  readonly actual: Json | undefined
  readonly note?: string
}

/** An object matches if it has at least the expected fields. Lists match by length and element. */
export function differences(expected: Json, actual: Json | undefined, at: string): Difference[] {
  const matcher = matcherOf(expected)
  if (matcher) return matcher(actual) ? [] : [{ at, expected, actual }]
  if (Array.isArray(expected)) return listDifferences(expected, actual, at)
  if (typeof expected !== "object" || expected === null) return isDeepStrictEqual(expected, actual) ? [] : [{ at, expected, actual }]
  if (typeof actual !== "object" || actual === null || Array.isArray(actual)) return [{ at, expected, actual }]
  return Object.entries(expected).flatMap(([key, value]) => differences(value, actual[key], child(at, key)))
}

function listDifferences(expected: readonly Json[], actual: Json | undefined, at: string): Difference[] {
  if (!Array.isArray(actual)) return [{ at, expected: [...expected], actual }]
  const found = expected.flatMap((one, index) => {
    if (index >= actual.length) return [{ at: `${at}[${index}]`, expected: one, actual: undefined, note: "missing" }]
    return differences(one, actual[index], `${at}[${index}]`)
  })
  const extra = actual
    .slice(expected.length)
    .map((one, index) => ({ at: `${at}[${expected.length + index}]`, expected: undefined, actual: one, note: "not expected" }))
  return [...found, ...extra]
}

function child(at: string, key: string): string {
  return /^[\w$-]+$/.test(key) ? `${at}.${key}` : `${at}[${JSON.stringify(key)}]`
}

/** Values of `$any`. */
export const kinds = ["string", "number", "boolean", "object", "list", "absent"]

/** Matchers: objects with one field for a class of values. Each with its notation and meaning. */
export const matchers: Readonly<Record<string, { readonly written: string; readonly fits: string }>> = {
  $contains: { written: "{ $contains: text }", fits: "A string that contains this one; a list with a matching element." },
  $matches: { written: "{ $matches: regex }", fits: "A string that matches the regular expression." },
  $any: { written: `{ $any: ${kinds.join(" | ")} }`, fits: "Any value of the type; null counts as absent." },
  $absent: { written: "{ $absent: true }", fits: "No value, or null; with `false` any other value." },
  $exactly: { written: "{ $exactly: value }", fits: "Exactly this value, without further fields in objects." },
}

export const matcherNames = Object.keys(matchers)

type Matcher = (actual: Json | undefined) => boolean

/** Returns name and value of an object with a single `$` field. */
export function writtenMatcher(expected: Json): readonly [name: string, value: Json] | undefined {
  if (typeof expected !== "object" || expected === null || Array.isArray(expected)) return undefined
  const [entry, ...others] = Object.entries(expected)
  return entry?.[0].startsWith("$") && others.length === 0 ? entry : undefined
}

/** Throws for an unknown matcher. Files with unknown matchers are not run. */
function matcherOf(expected: Json): Matcher | undefined {
  const written = writtenMatcher(expected)
  if (!written) return undefined
  const [name, value] = written
  switch (name) {
    case "$contains":
      return (actual) =>
        typeof actual === "string"
          ? actual.includes(String(value))
          : Array.isArray(actual) && actual.some((one) => differences(value, one, "").length === 0)
    case "$matches": {
      const pattern = new RegExp(String(value))
      return (actual) => typeof actual === "string" && pattern.test(actual)
    }
    case "$any":
      return (actual) => kindOf(actual) === value
    case "$absent":
      return (actual) => (actual === undefined || actual === null) === (value === true)
    case "$exactly":
      return (actual) => isDeepStrictEqual(value, actual)
    default:
      throw new Error(`The matcher ${name} does not exist.`)
  }
}

function kindOf(value: Json | undefined): string {
  if (value === undefined || value === null) return "absent"
  return Array.isArray(value) ? "list" : typeof value
}
