// Two texts as one: lines that only the first has (-), that only the second has (+), and that both have.
import { styleText } from "node:util"
import { diffArrays } from "diff"
import { stringify } from "yaml"
import type { Json } from "#core"

/** Beyond this many changed lines the comparison costs more than a reader gains: then all of the one stands before the other. */
const maxChanges = 2_000

export function lineDiff(before: readonly string[], after: readonly string[]): string[] {
  const parts = diffArrays([...before], [...after], { maxEditLength: maxChanges }) ?? [
    { removed: true, added: false, value: before },
    { removed: false, added: true, value: after },
  ]
  return parts.flatMap(({ removed, added, value }) =>
    value.map((line) => (removed ? styleText("red", `- ${line}`) : added ? styleText("green", `+ ${line}`) : `  ${line}`)),
  )
}

/** A value as lines of YAML; a missing one as one line that says so. */
export function yamlLines(value: Json | undefined): string[] {
  if (value === undefined) return ["(nothing)"]
  return stringify(value, { lineWidth: 0 }).trimEnd().split("\n")
}
