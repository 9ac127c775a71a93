// Calls that succeed, declared with their operation: its documentation shows them, and the tests of the surfaces draw
// their inputs from them, so that an operation of any plugin is called everywhere without a test of its own.

/** A call that succeeds, shown by the documentation and made by the tests of the surfaces. */
export interface OperationExample<In = unknown> {
  /** What it shows; the first example needs none. */
  readonly title?: string
  /** What must be there before, made in this order: each a call of another operation, by name. */
  readonly given?: Readonly<Record<string, GivenCall>>
  readonly input: In
}

/** An operation's name alone calls it as its first example does. */
export type GivenCall = string | { readonly operation: string; readonly input: unknown }

const mark = "result_of"

/** Stands for the result of a given call: `resultOf("dataset.slug")`, the given's name and a dotted path. */
export function resultOf(path: string): never {
  return { [mark]: path } as never
}

/** The path that a value made by `resultOf` names; undefined for any other value. */
export function resultPath(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null || Object.keys(value).length !== 1) return undefined
  const path = (value as Record<string, unknown>)[mark]
  return typeof path === "string" ? path : undefined
}

/** The input with something in place of each `resultOf`. */
export function fulfilled(input: unknown, instead: (path: string, field: string) => unknown, field = ""): unknown {
  const path = resultPath(input)
  if (path !== undefined) return instead(path, field)
  if (Array.isArray(input)) return input.map((item) => fulfilled(item, instead, field))
  if (typeof input !== "object" || input === null) return input
  return Object.fromEntries(Object.entries(input).map(([name, inner]) => [name, fulfilled(inner, instead, name)]))
}
