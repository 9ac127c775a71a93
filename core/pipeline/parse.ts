// Parses the text of a pipeline file, YAML 1.2 or JSON. Each part of the value has a line and a column. Errors in the text become
// findings with a place.
import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  Scalar,
  type YAMLError,
} from "yaml"
import { isRounded } from "../kernel/rounded-integer.ts"
import { type Finding, finding, keysOf, type RuleId } from "./findings.ts"

export interface SourcePosition {
  readonly line: number
  readonly column: number
}

/**
 * Returns the position of a pointer, or of a line and column (from 1) inside the text value at the pointer. For a missing part it
 * returns the nearest existing part.
 */
export type Locate = (pointer: string, inside?: SourcePosition) => SourcePosition | undefined

export interface ParsedText {
  /** undefined if the text is unreadable. */
  readonly value: unknown
  readonly findings: readonly Finding[]
  readonly locate: Locate
}

export interface ParseOptions {
  /** Reports a literal `auth_config.secret` as an error, because files must not contain secrets. */
  readonly refuseLiteralSecrets?: boolean
}

const maxLength = 2 * 1_048_576
/** Maximum uses of an anchor, including nested repeats. */
const maxAliasCount = 100
/** Maximum aliases of a text. The library searches all anchors for each alias. */
const maxAliases = 1_000

/** Parses a YAML or JSON text. Each part of the value has a line. Problems become findings. It never throws. */
export function parseText(text: string, { refuseLiteralSecrets = false }: ParseOptions = {}): ParsedText {
  if (text.length > maxLength) {
    const message = `The text has ${text.length} characters; the limit is ${maxLength}.`
    return { value: undefined, findings: [finding("invalid-syntax", "", message)], locate: () => undefined }
  }
  const lines = new LineCounter()
  try {
    const document = parseDocument(text, {
      lineCounter: lines,
      prettyErrors: false,
      uniqueKeys: true,
      strict: true,
      logLevel: "error",
    })
    const locate = locator(text, document, lines)
    const problems = syntaxFindings(document, lines)
    if (problems.length > 0) return { value: undefined, findings: problems, locate }
    const value: unknown = document.toJS({ maxAliasCount })
    // The size includes every repeat of an alias.
    if (JSON.stringify(value).length > maxLength) throw new Error(`With its aliases the document has more than ${maxLength} characters`)
    return { value, findings: refuseLiteralSecrets ? secretFindings(value, locate) : [], locate }
  } catch (error) {
    const message = thrownProblem(error as Error)
    return { value: undefined, findings: [finding("invalid-syntax", "", message, { line: 1, column: 1 })], locate: () => undefined }
  }
}

/** Explains stack overflow by deep nesting, and multiplied aliases. */
function thrownProblem({ name, message }: Error): string {
  if (name === "RangeError") return "The text is nested too deeply."
  return name === "ReferenceError"
    ? `An anchor is repeated more than ${maxAliasCount} times by its aliases and by theirs; use fewer aliases.`
    : sentence(message)
}

/**
 * Returns the first syntax error only, because later errors follow from it. A tab takes precedence. Duplicate keys are all
 * reported.
 */
function firstOf(problems: readonly YAMLError[]): readonly YAMLError[] {
  const faults = problems.filter(({ code }) => code !== "DUPLICATE_KEY").sort((a, b) => a.pos[0] - b.pos[0])
  const first = faults.find(({ code }) => code === "TAB_AS_INDENT") ?? faults[0]
  return first ? [first] : problems
}

function syntaxFindings(document: Document.Parsed, lines: LineCounter): Finding[] {
  const found: Finding[] = []
  const add = (message: string, offset: number, rule: RuleId = "invalid-syntax") => {
    const { line, col } = lines.linePos(offset)
    found.push(finding(rule, "", message, { line, column: col }))
  }
  for (const problem of firstOf([...document.errors, ...document.warnings])) {
    if (problem.code === "TAB_AS_INDENT") add("This line is indented with a tab; YAML takes spaces only.", problem.pos[0])
    else if (problem.code === "BLOCK_AS_IMPLICIT_KEY")
      add("The next line is indented further, but this line has a value already; give both the same indentation.", problem.pos[0])
    else if (problem.code === "DUPLICATE_KEY") add("This key is a duplicate in its object; remove one.", problem.pos[0])
    else if (problem.code === "MULTIPLE_DOCS") add("A file holds one document; split it at this line.", problem.pos[0])
    else add(sentence(problem.message), problem.pos[0])
  }
  if (found.length > 0) return found
  const aliases = new Aliases()
  // A manual walk. The library's own walk takes a tenth of the parse time.
  const look = (node: unknown): void => {
    if (isSeq(node)) aliases.within(node.anchor, () => node.items.forEach(look))
    else if (isMap(node)) {
      aliases.within(node.anchor, () => {
        for (const { key, value } of node.items) {
          const problem = keyProblem(key)
          if (problem !== undefined) add(problem, startOf(key as Node))
          look(key)
          look(value)
        }
      })
    } else if (isScalar(node) || isAlias(node)) {
      const problem = isAlias(node) ? aliases.problem(node) : numberProblem(node)
      if (problem !== undefined) add(problem, startOf(node))
      if (isScalar(node)) aliases.within(node.anchor, () => {})
    }
  }
  look(document.contents)
  return found
}

function keyProblem(key: unknown): string | undefined {
  if (isScalar(key) && key.value === "<<" && key.type === Scalar.PLAIN)
    return 'Merge keys ("<<") are not supported: write the fields, or use an alias for the whole value.'
  if (isScalar(key) && key.value === "__proto__") return 'A key cannot be named "__proto__".'
  return key === null || (isScalar(key) && typeof key.value !== "object") ? undefined : "A key must be plain text."
}

/** Checks aliases against the earlier anchors, in text order. */
class Aliases {
  readonly #anchors = new Set<string>()
  /** Anchors around the current node. */
  readonly #open = new Set<string>()
  #count = 0

  within(anchor: string | undefined, look: () => void): void {
    if (anchor === undefined) {
      look()
      return
    }
    const isAgain = this.#open.has(anchor)
    this.#anchors.add(anchor)
    this.#open.add(anchor)
    look()
    if (!isAgain) this.#open.delete(anchor)
  }

  problem({ source }: Alias): string | undefined {
    this.#count++
    if (this.#count > maxAliases) return this.#count === maxAliases + 1 ? `A text has at most ${maxAliases} aliases.` : undefined
    if (this.#open.has(source)) return `The alias "${source}" stands within its own anchor; a value cannot hold itself.`
    return this.#anchors.has(source) ? undefined : `The alias "${source}" has no anchor before it.`
  }
}

function numberProblem({ value, source = "This" }: Scalar): string | undefined {
  if (typeof value === "bigint") return `${source} is too large for a number; put it in quotes.`
  if (typeof value !== "number") return undefined
  if (isRounded(value, source.replace(/^\+/, "")))
    return `A number cannot hold the integer ${source.slice(0, 40)} exactly; put it in quotes.`
  return Number.isFinite(value) ? undefined : `${source} is not a JSON number.`
}

function secretFindings(value: unknown, locate: Locate): Finding[] {
  const config = (value as { auth_config?: { secret?: unknown } | null } | null)?.auth_config
  if (typeof config?.secret !== "string") return []
  const pointer = "/auth_config/secret"
  const message = "A file cannot hold a secret. Put it in an environment variable and write { from_env: NAME } here."
  return [finding("literal-secret", pointer, message, locate(pointer))]
}

function locator(text: string, document: Document.Parsed, lines: LineCounter): Locate {
  return (pointer, inside) => {
    const { node, key } = find(document, pointer)
    const offset = key ? startOf(key) : node ? startOf(node) : 0
    const { line, col } = lines.linePos(offset)
    if (!inside || !isScalar(node)) return { line: Math.max(line, 1), column: Math.max(col, 1) }
    return placeInside(text, node, inside, lines)
  }
}

/** Lines of a block scalar start below its header and keep their length. For a quoted scalar only the first line is certain. */
function placeInside(text: string, node: Scalar, inside: SourcePosition, lines: LineCounter): SourcePosition {
  const start = lines.linePos(startOf(node))
  if (node.type === Scalar.BLOCK_LITERAL) return { line: start.line + inside.line, column: inside.column + blockIndent(text, node) }
  return { line: start.line, column: inside.line === 1 && node.type === Scalar.PLAIN ? start.col + inside.column - 1 : start.col }
}

/** Returns the indentation of the first non-blank line below the header. */
function blockIndent(text: string, { range }: Scalar): number {
  const [, ...below] = text.slice(range?.[0], range?.[1]).split("\n")
  return /^ */.exec(below.find((line) => line.trim() !== "") ?? "")?.[0].length ?? 0
}

function find(document: Document.Parsed, pointer: string): { node: Node | null; key: Node | null } {
  let node = document.contents as Node | null
  let key: Node | null = null
  for (const part of keysOf(pointer)) {
    if (isAlias(node)) node = node.resolve(document) as Node | null
    if (isMap(node)) {
      const pair = node.items.find((one: Pair) => isScalar(one.key) && String(one.key.value) === part)
      if (!pair) break
      key = pair.key as Node
      node = pair.value as Node | null
    } else if (isSeq(node)) {
      const item = node.items[Number(part)] as Node | undefined
      if (!item) break
      key = null
      node = item
    } else break
  }
  return { node, key }
}

function startOf(node: Node): number {
  return node.range?.[0] ?? 0
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`
}

// Decodes a document's bytes as text. A lenient decoder would silently store an umlaut in Latin-1 as U+FFFD.

/** Message for invalid UTF-8. */
export const notUtf8 = "The file is not valid UTF-8. Save it in that encoding."

/** Returns the text without a byte order mark. Returns undefined for invalid UTF-8, or for text with NUL, such as UTF-16. */
export function utf8Text(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes)
    return text.includes("\0") ? undefined : text
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}
