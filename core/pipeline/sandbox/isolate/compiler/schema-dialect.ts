// Rewrites a schema before compilation if ajv deviates from its dialect. A `$ref` of draft-07 ignores its siblings. A
// `$dynamicRef` with a single possible target becomes a `$ref`. With several targets it is refused, because ajv would resolve it
// wrongly.

export class UnsupportedSchema extends Error {
  readonly pointer: string
  constructor(message: string, pointer: string) {
    super(message)
    this.pointer = pointer
  }
}

type Fields = Record<string, unknown>

/** Keywords whose values are data, not schemas. */
const data = new Set(["const", "enum", "default", "examples"])
/** Keywords that stay valid beside a draft-07 `$ref`, because other references may point to them. */
const besideReference = new Set(["$ref", "$schema", "$comment", "title", "description", "definitions"])

/** Returns a copy to compile. Throws UnsupportedSchema. */
export function asAjvReadsIt(schema: unknown, isDraft07: boolean): unknown {
  if (isDraft07) return walk(schema, "", lonelyReference)
  const anchors: string[] = []
  walk(schema, "", (fields) => {
    for (const key of ["$anchor", "$dynamicAnchor"]) if (typeof fields[key] === "string") anchors.push(fields[key])
    return fields
  })
  return walk(schema, "", (fields, pointer) => staticReference(fields, pointer, anchors))
}

function walk(node: unknown, pointer: string, rewrite: (fields: Fields, pointer: string) => Fields): unknown {
  if (Array.isArray(node)) return node.map((each, i) => walk(each, `${pointer}/${i}`, rewrite))
  if (typeof node !== "object" || node === null) return node
  const entries = Object.entries(rewrite(node as Fields, pointer)).map(([key, value]) => [
    key,
    data.has(key) ? value : walk(value, `${pointer}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`, rewrite),
  ])
  return Object.fromEntries(entries)
}

function lonelyReference(fields: Fields, pointer: string): Fields {
  if (typeof fields["$ref"] !== "string") return fields
  return Object.fromEntries(Object.entries(fields).filter(([key]) => besideReference.has(key) || (pointer === "" && key === "$id")))
}

function staticReference(fields: Fields, pointer: string, anchors: readonly string[]): Fields {
  const reference = fields["$dynamicRef"]
  if (typeof reference !== "string") return fields
  const name = reference.slice(1)
  const targets = anchors.filter((anchor) => anchor === name).length
  const isPlain = reference === "#" || (reference.startsWith("#") && targets === 1)
  if (!isPlain || "$ref" in fields) {
    throw new UnsupportedSchema(`The $dynamicRef "${reference}" has no single target in the document; use $ref`, `${pointer}/$dynamicRef`)
  }
  const { $dynamicRef: _, ...rest } = fields
  return { ...rest, $ref: reference }
}
