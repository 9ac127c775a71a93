// Compares one JSON value with another, line by line, and marks added and changed fields.

export interface Line {
  readonly text: string
  readonly mark: "same" | "only" | "other"
}

interface Place {
  readonly depth: number
  /** Name of the field, and the text after the value. */
  readonly before: string
  readonly after: string
}

interface Beside {
  readonly isThere: boolean
  readonly value: unknown
}

const maxDepth = 50

/**
 * Returns at most `most` lines of `value` and the number of further lines. Each line is marked by comparison with the same path
 * of `beside`.
 */
export function linesOf(value: unknown, beside: unknown, most: number): { readonly lines: readonly Line[]; readonly left: number } {
  const lines: Line[] = []
  let left = 0
  for (const { text, mark } of walk(value, { isThere: true, value: beside }, { depth: 0, before: "", after: "" })) {
    if (lines.length < most) lines.push({ text, mark })
    else left++
  }
  return { lines, left }
}

function* walk(one: unknown, beside: Beside, place: Place): Generator<Line> {
  const { depth, before, after } = place
  const indent = "  ".repeat(depth)
  if (!isHolder(one) || depth >= maxDepth || Object.keys(one).length === 0) {
    const text = JSON.stringify(one) ?? "null"
    yield { text: indent + before + text + after, mark: markOf(beside, text === JSON.stringify(beside.value)) }
    return
  }
  const isList = Array.isArray(one)
  const other = isHolder(beside.value) && Array.isArray(beside.value) === isList ? beside.value : undefined
  const mark = markOf(beside, other !== undefined)
  yield { text: `${indent}${before}${isList ? "[" : "{"}`, mark }
  const entries = Object.entries(one)
  for (const [index, [name, inner]] of entries.entries()) {
    const isThere = other !== undefined && Object.hasOwn(other, name)
    const label = isList ? "" : `${JSON.stringify(name)}: `
    const comma = index < entries.length - 1 ? "," : ""
    yield* walk(inner, { isThere, value: isThere ? other[name] : undefined }, { depth: depth + 1, before: label, after: comma })
  }
  yield { text: indent + (isList ? "]" : "}") + after, mark }
}

function markOf({ isThere }: Beside, isAlike: boolean): Line["mark"] {
  if (!isThere) return "only"
  return isAlike ? "same" : "other"
}

function isHolder(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null
}
