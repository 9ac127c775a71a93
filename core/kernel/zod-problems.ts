// Formats zod issues for callers, authors of documents and operators. Unknown fields are listed singly with "did you mean".
// Unions are reduced to the most likely alternative. Messages show the expected and the received kind, but never a value, since
// it may be secret.
import type { z } from "zod"
import type { FieldProblem } from "./errors.ts"
import { didYouMean } from "./guess.ts"
import { valueAt } from "./json.ts"
import { knownFields } from "./known-fields.ts"
import { isSecretName } from "./secret-names.ts"

export interface ZodProblem {
  readonly kind: "unknown" | "missing" | "invalid"
  readonly path: readonly PropertyKey[]
  readonly message: string
  /** For an unknown field: the suggestion, with a leading space. */
  readonly hint?: string
}

export interface RefusedValue {
  readonly schema: z.core.$ZodType
  /** The checked input. */
  readonly value: unknown
  readonly issues: readonly z.core.$ZodIssue[]
  /** Fields allowed at the top level in addition to the schema's. */
  readonly alsoKnown?: readonly string[]
}

type Issue = z.core.$ZodIssue
type Path = readonly PropertyKey[]

/** Further problems are only counted: a hostile value can have as many problems as bytes. */
export const maxProblems = 100
/** Longer field names are cut in messages. */
const maxShownName = 100

/** Returns the first hundred problems and their total count. */
export function zodProblems(refused: RefusedValue): { readonly problems: readonly ZodProblem[]; readonly count: number } {
  const found = new Problems(refused)
  found.add(refused.issues, [])
  return found
}

/** Returns the same problems with dotted paths below `at`, in the form of `details.fields`. */
export function fieldProblems(refused: RefusedValue, at: Path = []): FieldProblem[] {
  return zodProblems(refused).problems.map(({ path, message }) => ({ path: dotted([...at, ...path]), message }))
}

export function dotted(path: Path): string {
  return path.map(shownName).join(".")
}

class Problems {
  readonly problems: ZodProblem[] = []
  count = 0
  readonly #refused: RefusedValue

  constructor(refused: RefusedValue) {
    this.#refused = refused
  }

  /** `base` is the root of the issues' paths. */
  add(issues: readonly Issue[], base: Path): void {
    for (const issue of issues) {
      const path = [...base, ...issue.path]
      if (issue.code === "unrecognized_keys") this.#addUnknown(issue.keys, path)
      else if (issue.code === "invalid_union") this.#addUnion(issue.errors, path)
      else this.#addOne(issue, path)
    }
  }

  #addUnknown(keys: readonly string[], path: Path): void {
    const { schema, alsoKnown = [] } = this.#refused
    const known = this.#isFull ? [] : [...knownFields(schema, path), ...(path.length === 0 ? alsoKnown : [])]
    for (const key of keys) {
      this.count++
      if (this.#isFull) continue
      const name = shownName(key)
      const hint = didYouMean(name, known) || listed(known)
      this.problems.push({ kind: "unknown", path: [...path, key], message: `Unknown field "${name}".${hint}`, hint })
    }
  }

  #addUnion(alternatives: readonly (readonly Issue[])[], path: Path): void {
    const template = alternatives.find((issues) => issues.some(({ message }) => message.startsWith("expected a template")))
    const plain = alternatives.filter((issues) => issues !== template)
    const meant = plain.map((issues) => ({ issues, depth: depthOf(issues) })).sort((a, b) => b.depth - a.depth)[0]
    const isFlat = (issues: readonly Issue[]) => issues.every((issue) => issue.path.length === 0 && issue.code !== "unrecognized_keys")
    if (!meant) {
      this.#tell("invalid", path, () => "No alternative fits.")
    } else if (plain.length > 1 && plain.every(isFlat)) {
      const given = valueAt(this.#refused.value, path)
      const said = () => [...new Set(plain.flat().map((issue) => messageOf(issue, given)))].join(" Or: ")
      this.#tell(kindOfProblem(given), path, () => (given === undefined ? "Required." : said()))
    } else {
      const first = this.problems.length
      this.add(meant.issues, path)
      if (!template || !isFlat(meant.issues)) return
      this.problems.push(
        ...this.problems
          .splice(first)
          .map((one) => ({ ...one, message: `${one.message.replace(/\.$/, "")}, or a template such as {{ event.field }}.` })),
      )
    }
  }

  #addOne(issue: Issue, path: Path): void {
    const given = valueAt(this.#refused.value, path)
    this.#tell(issue.code === "custom" ? "invalid" : kindOfProblem(given), path, () => messageOf(issue, given))
  }

  get #isFull(): boolean {
    return this.problems.length >= maxProblems
  }

  #tell(kind: ZodProblem["kind"], path: Path, message: () => string): void {
    this.count++
    if (!this.#isFull) this.problems.push({ kind, path, message: message() })
  }
}

function kindOfProblem(given: unknown): ZodProblem["kind"] {
  return given === undefined ? "missing" : "invalid"
}

/** Returns the depth to which an alternative fits the value. Negative infinity for a value of another kind. */
function depthOf(issues: readonly Issue[]): number {
  return issues.reduce((deepest, { code, path }) => {
    if (path.length === 0 && code === "invalid_type") return Number.NEGATIVE_INFINITY
    return Math.max(deepest, path.length)
  }, 0)
}

function messageOf(issue: Issue, given: unknown): string {
  const isMissing = given === undefined && issue.code !== "custom"
  if (issue.code === "invalid_type" || issue.code === "invalid_value") {
    const expected = issue.code === "invalid_type" ? named(issue.expected) : oneOf(issue.values)
    if (isMissing) return `Required: ${expected}.`
    const isWord = issue.code === "invalid_value" && typeof given === "string"
    return isWord
      ? `Expected ${expected}.${didYouMean(
          given,
          issue.values.filter((one) => typeof one === "string"),
        )}`
      : `Expected ${expected}, found ${kindOf(given)}.`
  }
  const text = isMissing ? "Required" : issue.message.trim()
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith(".") ? "" : "."}`
}

/** Returns the kind of a value: `a string`, `a list`, `nothing`, ... */
export function kindOf(value: unknown): string {
  if (value === undefined || value === null) return value === null ? "null" : "nothing"
  return Array.isArray(value) ? "a list" : typeof value === "object" ? "an object" : `a ${typeof value}`
}

function named(kind: string): string {
  if (kind === "array") return "a list"
  if (kind === "record") return "an object"
  if (kind === "int") return "a whole number"
  if (kind === "json") return "a JSON value"
  return `${/^[aeiou]/.test(kind) ? "an" : "a"} ${kind}`
}

function oneOf(values: readonly unknown[]): string {
  return `${values.length > 1 ? "one of " : ""}${values.map((one) => JSON.stringify(one) ?? String(one)).join(", ")}`
}

function listed(known: readonly string[]): string {
  return known.length === 0 || known.length > 30 ? "" : ` There are: ${known.join(", ")}.`
}

function shownName(step: PropertyKey): string {
  const name = String(step)
  return name.length > maxShownName ? `${name.slice(0, maxShownName)}…` : name
}

// Problems of settings for an operator: path, origin, the value unless it is a secret, and valid values. Settings of core and
// plugins have the same wording.

interface RefusedSettings extends RefusedValue {
  /** Dotted path of the value in the configuration. Empty for the whole configuration. */
  readonly at: string
  /** Returns ` (from …)`, or an empty text if the origin is unknown. */
  readonly from?: (path: string) => string
}

/** Returns one line for each problem. */
export function settingProblems({ at, from = () => "", ...refused }: RefusedSettings): string[] {
  const { problems, count } = zodProblems(refused)
  const lines = problems.map(({ kind, path, message, hint }) => {
    const name = dotted(at === "" ? path : [at, ...path])
    if (kind === "missing") return `${name} is missing. ${message}`
    if (kind === "unknown") return `${name}${from(name)} is not a setting.${hint}`
    return `${name}${from(name)} cannot be ${shownSetting(name, valueAt(refused.value, path))}: ${message}`
  })
  return count > lines.length ? [...lines, `${count - lines.length} more settings are refused.`] : lines
}

/** Formats a value for printing. Secrets appear as `[set]`, and credentials in URLs are cut. */
export function shownSetting(path: string, value: unknown): string {
  if (value === null || value === undefined) return "null"
  if (isSecretName(path.split(".").at(-1) ?? "")) return "[set]"
  return JSON.stringify(value, (key, inner: unknown) => {
    if (isSecretName(key) && inner !== null) return "[set]"
    return typeof inner === "string" ? inner.replace(/\/\/[^/\s]*@/g, "//[set]@") : inner
  })
}
