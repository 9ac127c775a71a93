// Two texts as one: lines that only the first has (-), that only the second has (+), and that both have.
import { styleText } from "node:util"
import { stringify } from "yaml"
import type { Json } from "../../contract/collection.ts"

export function lineDiff(before: readonly string[], after: readonly string[]): string[] {
  const common = longestCommon(before, after)
  const lines: string[] = []
  let [left, right] = [0, 0]
  for (const [fromLeft, fromRight] of [...common, [before.length, after.length] as const]) {
    while (left < fromLeft) lines.push(styleText("red", `- ${before[left++]}`))
    while (right < fromRight) lines.push(styleText("green", `+ ${after[right++]}`))
    if (left < before.length && right < after.length) lines.push(`  ${before[left]}`)
    left++
    right++
  }
  return lines
}

/** A value as lines of YAML; a missing one as one line that says so. */
export function yamlLines(value: Json | undefined): string[] {
  if (value === undefined) return ["(nothing)"]
  return stringify(value, { lineWidth: 0 }).trimEnd().split("\n")
}

/** Beyond this the comparison costs more than a reader gains. */
const longest = 2_000

/** Positions of the lines of a longest common subsequence. */
function longestCommon(before: readonly string[], after: readonly string[]): (readonly [number, number])[] {
  if (before.length > longest || after.length > longest) return []
  const width = after.length + 1
  const table = new Uint32Array((before.length + 1) * width)
  const at = (left: number, right: number) => table[left * width + right] ?? 0
  for (let left = before.length - 1; left >= 0; left--) {
    for (let right = after.length - 1; right >= 0; right--) {
      table[left * width + right] =
        before[left] === after[right] ? at(left + 1, right + 1) + 1 : Math.max(at(left + 1, right), at(left, right + 1))
    }
  }
  const found: [number, number][] = []
  for (let left = 0, right = 0; left < before.length && right < after.length; ) {
    if (before[left] === after[right]) found.push([left++, right++])
    else if (at(left + 1, right) >= at(left, right + 1)) left++
    else right++
  }
  return found
}
