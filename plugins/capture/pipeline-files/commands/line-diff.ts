// Merges two texts into one: lines only in the first (-), lines only in the second (+), and common lines.
import { styleText } from "node:util"
import { diffArrays } from "diff"
import { stringify } from "yaml"
import type { Json } from "#core"

/** Bound of the comparison's cost. Above it, the whole first text precedes the whole second text. */
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

/** Returns a value as lines of YAML, or a placeholder line if it is undefined. */
export function yamlLines(value: Json | undefined): string[] {
  if (value === undefined) return ["(nothing)"]
  return stringify(value, { lineWidth: 0 }).trimEnd().split("\n")
}
