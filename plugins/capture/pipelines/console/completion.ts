// Completes field names and enumerated values in a document, from the schema of documents. The place is found by indentation, so
// completion also works in an unparsable document.
import type { Completion } from "#console"

export interface Schema {
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, Schema>>
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly default?: unknown
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly if?: Schema
  readonly then?: Schema
}

interface Line {
  /** Columns of the line's dashes. */
  readonly dashes: readonly number[]
  /** Column of the text after the dashes. */
  readonly column: number
  readonly key: string | undefined
  readonly value: string
}

const item = Symbol("item")

interface Level {
  readonly key: string | typeof item
  /** Sibling fields with their plain values. */
  readonly beside: Readonly<Record<string, string>>
}

export function completionsAt(root: Schema | undefined, text: string, offset: number) {
  if (!root) return null
  const lines = text.split("\n")
  const index = text.slice(0, offset).split("\n").length - 1
  const before = text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset)
  const line = lineOf(before)
  if (line === undefined) return null
  const word = /[\w.-]*$/.exec(before)?.[0] ?? ""
  const at = walk(root, root, levelsAbove(lines, index, line))
  const beside = besideOf(lines, index, line)
  if (line.key === undefined) {
    if (line.value !== word) return null
    return {
      from: offset - word.length,
      options: [...fieldsOf(root, at, beside)].flatMap(([name, schema]) => (name in beside ? [] : field(root, name, schema))),
    }
  }
  if (line.value.trim() !== word) return null
  const schema = fieldsOf(root, at, beside).get(line.key)
  return { from: offset - word.length, options: schema ? valuesOf(root, schema) : [] }
}

/** Returns undefined for a comment. */
function lineOf(text: string): Line | undefined {
  const lead = /^[ ]*(?:- +)*/.exec(text)?.[0] ?? ""
  const rest = text.slice(lead.length)
  if (rest.startsWith("#")) return undefined
  const [, key, value = ""] = /^([\w.-]+):(?: (.*))?$/.exec(rest) ?? []
  const dashes = [...lead.matchAll(/-/g)].map((match) => match.index)
  return { dashes, column: lead.length, key, value: key === undefined ? rest : value }
}

/** Returns the levels around a place, outermost first. */
function levelsAbove(lines: readonly string[], index: number, start: Line): Level[] {
  const levels: Level[] = []
  let column = start.column
  const items = (dashes: readonly number[]) => {
    for (const dash of dashes.toReversed()) {
      if (dash >= column) continue
      levels.unshift({ key: item, beside: {} })
      column = dash
    }
  }
  items(start.dashes)
  for (let at = index - 1; at >= 0 && (column > 0 || levels[0]?.key === item); at--) {
    const line = lineOf(lines[at] ?? "")
    if (line === undefined || (line.key === undefined && line.value.trim() === "" && line.dashes.length === 0)) continue
    const holds =
      line.key !== undefined && (line.column < column || (line.column === column && levels[0]?.key === item && line.value === ""))
    if (holds && line.key !== undefined) {
      levels.unshift({ key: line.key, beside: besideOf(lines, at, line) })
      column = line.column
      items(line.dashes)
      if (column === 0) break
    } else items(line.dashes)
  }
  return levels
}

/** Returns the other fields of a line's object. */
function besideOf(lines: readonly string[], index: number, { column, dashes }: Line): Record<string, string> {
  const found: Record<string, string> = {}
  const take = (line: Line) => {
    if (line.column === column && line.key !== undefined) found[line.key] = line.value.replace(/^["']|["']$/g, "")
  }
  const isOutside = (line: Line) => line.column < column && (line.key !== undefined || line.value.trim() !== "")
  for (let at = index - 1; at >= 0 && dashes.length === 0; at--) {
    const line = lineOf(lines[at] ?? "")
    if (line === undefined) continue
    if (isOutside(line)) break
    take(line)
    if (line.column === column && line.dashes.length > 0) break
  }
  for (let at = index + 1; at < lines.length; at++) {
    const line = lineOf(lines[at] ?? "")
    if (line === undefined) continue
    if (isOutside(line) || (line.dashes[0] ?? column) < column) break
    take(line)
  }
  return found
}

function walk(root: Schema, schema: Schema, levels: readonly Level[]): Schema {
  return levels.reduce<Schema>((current, { key, beside }) => {
    const inner = key === item ? alternatives(root, current).find(({ items }) => items)?.items : fieldsOf(root, current, beside).get(key)
    return inner ?? {}
  }, schema)
}

/** Returns the schema and its alternatives. A place without a value may follow any of them. */
function alternatives(root: Schema, schema: Schema): Schema[] {
  const named = schema.$ref === undefined ? undefined : root.$defs?.[schema.$ref.slice("#/$defs/".length)]
  return [schema, ...(named ? alternatives(root, named) : []), ...(schema.anyOf ?? []).flatMap((one) => alternatives(root, one))]
}

function fieldsOf(root: Schema, schema: Schema, beside: Readonly<Record<string, string>>): Map<string, Schema> {
  const fields = new Map<string, Schema>()
  for (const one of alternatives(root, schema)) {
    for (const [name, inner] of ownFields(one, beside)) if (!fields.has(name)) fields.set(name, inner)
    const chosen = (one.allOf ?? []).filter(({ if: asked }) => holds(asked, beside)).flatMap(({ then }) => then ?? [])
    for (const [name, inner] of chosen.flatMap((then) => [...fieldsOf(root, then, beside)]))
      if (isMore(fields.get(name))) fields.set(name, inner)
  }
  return fields
}

function ownFields({ properties = {}, additionalProperties: others }: Schema, beside: Readonly<Record<string, string>>) {
  // An object with free names, such as handlers.
  const named =
    typeof others === "object" && Object.keys(others).length > 0 ? Object.keys(beside).map((name) => [name, others] as const) : []
  return [...Object.entries(properties), ...named]
}

/** A field's schema from a condition replaces an empty schema. */
function isMore(known: Schema | undefined): boolean {
  return known === undefined || (known.properties === undefined && known.enum === undefined && known.items === undefined)
}

function holds(asked: Schema | undefined, beside: Readonly<Record<string, string>>): boolean {
  return Object.entries(asked?.properties ?? {}).every(([name, { const: wanted }]) =>
    name in beside ? beside[name] === wanted : !asked?.required?.includes(name),
  )
}

function field(root: Schema, name: string, schema: Schema): Completion[] {
  const all = alternatives(root, schema)
  const types = [...new Set(all.flatMap(({ type = [] }) => type))]
  return [
    { label: name, apply: `${name}: `, detail: types.join(" or "), info: all.find(({ description }) => description)?.description ?? "" },
  ]
}

function valuesOf(root: Schema, schema: Schema): Completion[] {
  const all = alternatives(root, schema)
  const values = all.flatMap((one) => [
    ...(one.enum ?? []),
    ...("const" in one ? [one.const] : []),
    ...(one.type === "boolean" ? [true, false] : []),
  ])
  return [...new Set(values)].map((value) => ({ label: String(value), ...(value === schema.default ? { detail: "default" } : {}) }))
}
