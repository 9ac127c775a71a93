// Collections and the fields of their documents. Read from the sources, because only types contain the fields.
import { exportLists, productFiles, sourceOf, targetOf } from "./sources.ts"

const start = /= defineCollection<|: defineCollection</g
const declaration = /[=:] defineCollection<([^()]+)>\(\)\(\{\s*name: (?:"(\w+)"|`\$\{\w+\}(\w+)`)/g

/**
 * Returns the fields of each collection in alphabetical order. A name with a leading `*` covers several collections with the same
 * ending. Throws if a type cannot be read.
 */
export function storedFields(): Map<string, readonly string[]> {
  const found = new Map<string, readonly string[]>()
  for (const file of productFiles().filter((path) => !/^core\/(?:cli|resource)\//.test(path))) {
    const text = sourceOf(file)
    const declared = [...text.matchAll(declaration)]
    if (declared.length !== (text.match(start)?.length ?? 0)) throw new Error(`${file}: the name of a collection cannot be read.`)
    for (const [, type = "", name, ending] of declared) found.set(name ?? `*${ending}`, [...new Set(fieldsOf(type, file))].sort())
  }
  return found
}

/** Returns the fields of an interface, of `A & B`, of `A | B`, of `Omit<A, …>` and of the output of a zod object. */
function fieldsOf(type: string, file: string): string[] {
  const parts = splitOutside(type.replaceAll(/\s+/g, " ").trim(), /[&|]/)
  if (parts.length > 1) return parts.flatMap((part) => fieldsOf(part, file))
  const name = parts[0] ?? ""
  const [, base, omitted] = /^Omit<(\w+), (.+)>$/.exec(name) ?? []
  if (base !== undefined) return fieldsOf(base, file).filter((field) => !omitted?.includes(`"${field}"`))
  if (name === "Document") return ["id", "organization_id"]
  const [, schema] = /^z\.output<typeof (\w+)>$/.exec(name) ?? []
  return schema === undefined ? declaredFields(name, file) : schemaFields(schema, file)
}

function schemaFields(name: string, file: string): string[] {
  const [head] = new RegExp(`^(?:export )?const ${name} = z\\.(?:strictObject|object)\\(\\{$`, "m").exec(sourceOf(file)) ?? []
  return head === undefined ? imported(name, file, schemaFields) : membersOf(blockAfter(head, sourceOf(file)))
}

function declaredFields(name: string, file: string): string[] {
  const text = sourceOf(file)
  const [head, bases, end] = new RegExp(`^(?:export )?interface ${name}(?: extends (.+?))? \\{(\\})?$`, "m").exec(text) ?? []
  if (head !== undefined) {
    const inherited = splitOutside(bases ?? "", /,/).flatMap((base) => (base === "" ? [] : fieldsOf(base, file)))
    return end === undefined ? [...inherited, ...membersOf(blockAfter(head, text))] : inherited
  }
  const [, alias] = new RegExp(`^(?:export )?type ${name} =((?:.|\\n[ |&])+)`, "m").exec(text) ?? []
  if (alias !== undefined) return fieldsOf(alias.replace(/^\s*\|/, ""), file)
  return imported(name, file, declaredFields)
}

/** Reads a name in its source file. */
function imported(name: string, file: string, read: (name: string, file: string) => string[]): string[] {
  const text = sourceOf(file)
  for (const { names, from } of [...exportLists(text, "import"), ...exportLists(text)]) {
    const passed = names.find(({ as }) => as === name)
    if (passed) return read(passed.name, targetOf(file, from))
  }
  throw new Error(`${file}: the fields of "${name}" cannot be read.`)
}

function blockAfter(head: string, text: string): string {
  const from = text.indexOf(head) + head.length
  return text.slice(from, text.indexOf("\n}", from))
}

function membersOf(block: string): string[] {
  return [...block.matchAll(/^ {2}(?:readonly )?(\w+)\??:/gm)].map(([, member = ""]) => member)
}

/** Splits at separators outside angle brackets. */
function splitOutside(text: string, separator: RegExp): string[] {
  const parts = [""]
  let depth = 0
  for (const sign of text) {
    depth += sign === "<" ? 1 : sign === ">" ? -1 : 0
    if (depth === 0 && separator.test(sign)) parts.push("")
    else parts[parts.length - 1] += sign
  }
  return parts.map((part) => part.trim())
}
