// Names, summaries and examples of a resource's operations, made from its declaration.
import { type OperationExample, resultOf } from "../contract/operation.ts"
import type { AnyResourceSpec, Example, Key, Shape, Verb, Within } from "./spec.ts"

export interface Named {
  readonly name: string
  readonly plural: string
  readonly word: string
  readonly area?: string | undefined
  readonly verbs?: AnyResourceSpec["verbs"] | undefined
}

/** `personas.create`, or `evals.create_suite` in an area with several resources. */
export function operationName({ name, plural, area, verbs }: Named, verb: Verb): string {
  const given = verbs?.[verb]?.name
  if (given !== undefined) return given
  return area === undefined ? `${plural}.${verb}` : `${area}.${verb}_${verb === "list" ? plural : name}`
}

export function summaryOf({ word }: Pick<Named, "word">, verb: Verb): string {
  const article = /^[aeiou]/.test(word) ? "an" : "a"
  if (verb === "list") return `List the ${word}s, newest first.`
  if (verb === "update") return `Change ${article} ${word}: only the given fields.`
  return `${verb === "create" ? "Create" : verb === "get" ? "Read" : "Delete"} ${article} ${word}.`
}

interface Exemplary {
  readonly key: Key<string, Shape>
  readonly within?: Within<string, string, never> | undefined
  readonly wrapped?: string | undefined
  readonly examples: readonly Example[]
  readonly change: Readonly<Record<string, unknown>>
}

/** Examples of an operation. Examples for one item use the item of the first example. */
export function examplesOf(
  verb: Verb,
  named: Named,
  { key, within, wrapped, examples, change }: Exemplary,
): readonly OperationExample<never>[] {
  const { given, input } = within?.example ?? {}
  if (verb === "create")
    return examples.map((one) => ({ ...one, given: { ...given, ...one.given }, input: { ...input, ...(one.input as object) } }) as never)
  if (verb === "list") return (within ? [{ given, input }] : [{ input: {} }]) as never
  const item = wrapped === undefined ? named.name : `${named.name}.${wrapped}`
  const first = examples[0]?.input as object | undefined
  const create = operationName(named, "create")
  const created = within ? { operation: create, input: { ...input, ...first } } : create
  const before = { ...given, [named.name]: created }
  const one = { ...input, [key.field]: resultOf(`${item}.${key.field}`) }
  return [
    { given: before, input: verb === "update" ? { ...one, ...change, expected_revision: resultOf(`${item}.revision`) } : one },
  ] as never
}

export function reasonOf({ word, plural }: Named, isContained: boolean) {
  const owner = isContained ? "Its container" : "The organization"
  return { code: "not_found", summary: `${owner} has no such ${word}.`, remedy: `List the ${plural.replaceAll("_", " ")}.` } as const
}
