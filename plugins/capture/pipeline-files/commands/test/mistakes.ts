// Checks test files beyond their schema: missing expectations, unknown matchers, missing bodies. All mistakes are reported with
// their places before the first test runs.
import { statSync } from "node:fs"
import { join } from "node:path"
import type { z } from "zod"
import type { Json } from "#core"
import { kinds, matcherNames, type TestDocument, TestFile, writtenMatcher } from "#core/commands"
import { childPointer, didYouMean, type RuleId, schemaProblems } from "#core/engine"

export interface Mistake {
  readonly rule: RuleId
  readonly pointer: string
  readonly message: string
}

/** Returns mistakes for schema issues of the file. */
export function fieldMistakes(issues: readonly z.core.$ZodIssue[], value: unknown): Mistake[] {
  return schemaProblems({ schema: TestFile, value, issues }, "").map((mistake) =>
    /\/answers?(\/\d+)?\/body$/.test(mistake.pointer) && mistake.message.startsWith("Expected a string")
      ? { ...mistake, message: `${mistake.message} "body" is sent unchanged; use "json" to send a value as JSON.` }
      : mistake,
  )
}

/** `body_file` is relative to `folder`. */
export function mistakesIn({ tests }: TestFile, folder: string): Mistake[] {
  return tests.flatMap((test, index) => {
    const pointer = childPointer("/tests", index)
    return [...shapeMistakes(test, pointer), ...exchangeMistakes(test, pointer, folder)]
  })
}

function shapeMistakes({ event, expect, events }: TestDocument, pointer: string): Mistake[] {
  const wrong = (message: string): Mistake[] => [{ rule: "invalid-field", pointer, message }]
  if (events) return event || expect ? wrong('A test has either "events", or one "event" with "expect".') : []
  if (event && expect) return []
  return wrong(`A test needs "event" and "expect", or a list of "events"; this one has no ${event ? '"expect"' : '"event"'}.`)
}

function exchangeMistakes(test: TestDocument, pointer: string, folder: string): Mistake[] {
  const exchanges = test.events?.map((one, index) => ({ ...one, at: childPointer(childPointer(pointer, "events"), index) }))
  return (exchanges ?? [{ event: test.event, expect: test.expect, at: pointer }]).flatMap(({ event, expect, at }) => [
    ...bodyMistakes(event?.body_file, childPointer(childPointer(at, "event"), "body_file"), folder),
    ...matcherMistakes((expect ?? {}) as Json, childPointer(at, "expect")),
  ])
}

function bodyMistakes(body_file: string | undefined, pointer: string, folder: string): Mistake[] {
  if (body_file === undefined || statSync(join(folder, body_file), { throwIfNoEntry: false })?.isFile()) return []
  return [{ rule: "invalid-field", pointer, message: `The file "${body_file}" does not exist beside this one.` }]
}

function matcherMistakes(expected: Json | undefined, pointer: string): Mistake[] {
  if (typeof expected !== "object" || expected === null) return []
  const written = writtenMatcher(expected)
  if (!written) return Object.entries(expected).flatMap(([key, value]) => matcherMistakes(value, childPointer(pointer, key)))
  const [name, value] = written
  const at = childPointer(pointer, name)
  const problem = matcherProblem(name, value)
  if (problem !== undefined)
    return [{ rule: matcherNames.includes(name) ? "invalid-field" : "unknown-field", pointer: at, message: problem }]
  return name === "$contains" ? matcherMistakes(value, at) : []
}

function matcherProblem(name: string, value: Json): string | undefined {
  switch (name) {
    case "$matches":
      return patternProblem(value)
    case "$any":
      return kinds.includes(String(value)) ? undefined : `"$any" takes one of ${kinds.join(", ")}.${didYouMean(String(value), kinds)}`
    case "$absent":
      return typeof value === "boolean" ? undefined : '"$absent" takes true or false.'
    case "$contains":
    case "$exactly":
      return undefined
    default:
      return `The matcher "${name}" does not exist.${didYouMean(name, matcherNames) || ` There are: ${matcherNames.join(", ")}.`}`
  }
}

function patternProblem(value: Json): string | undefined {
  try {
    new RegExp(String(value))
    return undefined
  } catch (error) {
    return `"$matches" takes a regular expression. ${(error as Error).message}.`
  }
}
