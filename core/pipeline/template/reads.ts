// Returns the reads of a template as paths from a root of the scope: `steps.save.row_id`. A path ends before a computed index,
// because its value is unknown before an event. The index's own reads are separate.
import { type Token, TypeGuards, type Value, type Variable } from "liquidjs"

export interface Read {
  readonly root: string
  /** Known keys below the root. */
  readonly path: readonly (string | number)[]
  /** True if the read precedes the filter `default`. */
  readonly hasDefault?: true
}

const { isPropertyAccessToken, isRangeToken, isQuotedToken, isNumberToken, isWordToken } = TypeGuards

export function readsOfValue(value: Value): Read[] {
  const found: { -readonly [K in keyof Read]: Read[K] }[] = []
  for (const token of value.initial.postfix) collect(token, found)
  if (value.filters.some(({ name }) => name === "default")) for (const read of found) read.hasDefault = true
  for (const filter of value.filters) {
    for (const arg of filter.args) {
      const token = Array.isArray(arg) ? arg[1] : arg
      if (token) collect(token, found)
    }
  }
  return found
}

/** Converts reads from Liquid's own analysis of templates with tags. The analysis excludes local names. */
export function readOfVariable(variable: Variable): Read | undefined {
  const [root, ...rest] = variable.segments
  if (typeof root !== "string") return undefined
  const computed = rest.findIndex((segment) => typeof segment === "object")
  return { root, path: (computed < 0 ? rest : rest.slice(0, computed)) as (string | number)[] }
}

/** Returns the keys of a path without computed parts. Returns undefined for any other token. */
export function fixedPath(token: Token): (string | number)[] | undefined {
  if (!isPropertyAccessToken(token) || token.variable) return undefined
  const keys = token.props.map(keyOf)
  return keys.includes(undefined) ? undefined : (keys as (string | number)[])
}

function keyOf(prop: Token): string | number | undefined {
  if (isWordToken(prop) || isQuotedToken(prop) || isNumberToken(prop)) return prop.content as string | number
  return undefined
}

function collect(token: Token, found: Read[]): void {
  if (isRangeToken(token)) {
    collect(token.lhs, found)
    collect(token.rhs, found)
    return
  }
  if (!isPropertyAccessToken(token)) return
  const keys = token.props.map(keyOf)
  const computed = keys.indexOf(undefined)
  const known = (computed < 0 ? keys : keys.slice(0, computed)) as (string | number)[]
  const root = known[0]
  if (!token.variable && typeof root === "string") found.push({ root, path: known.slice(1) })
  if (token.variable && !isQuotedToken(token.variable)) collect(token.variable, found)
  token.props.forEach((prop, index) => {
    if (keys[index] === undefined) collect(prop, found)
  })
}
