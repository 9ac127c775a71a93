// The text of a pipeline file, YAML 1.2 or JSON, as a value whose every part knows its line and column. Errors in
// the text are findings with their place; nothing is thrown.
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

/** Where a pointer stands, or a line and column (from 1) inside the text value there. The nearest known part answers for a missing one. */
export type Locate = (pointer: string, inside?: SourcePosition) => SourcePosition | undefined

export interface ParsedText {
  /** undefined when the text could not be read. */
  readonly value: unknown
  readonly findings: readonly Finding[]
  readonly locate: Locate
}

export interface ParseOptions {
  /** Files may not hold secrets: a literal `auth_config.secret` is an error there. */
  readonly refuseLiteralSecrets?: boolean
}

const maxLength = 2 * 1_048_576
/** Uses of one anchor, what it repeats in turn included. */
const maxAliasCount = 100
/** Aliases of one text: the library looks through all anchors for each. */
const maxAliases = 1_000

/** Reads a YAML or JSON text as a value whose every part knows its line. What is wrong with it is findings; nothing is thrown. */
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
    // What aliases repeat counts in full.
    if (JSON.stringify(value).length > maxLength) throw new Error(`With its aliases the document has more than ${maxLength} characters`)
    return { value, findings: refuseLiteralSecrets ? secretFindings(value, locate) : [], locate }
  } catch (error) {
    const message = thrownProblem(error as Error)
    return { value: undefined, findings: [finding("invalid-syntax", "", message, { line: 1, column: 1 })], locate: () => undefined }
  }
}

/** Nesting that exhausts the stack, aliases that multiply. */
function thrownProblem({ name, message }: Error): string {
  if (name === "RangeError") return "The text is nested too deeply."
  return name === "ReferenceError"
    ? `An anchor is repeated more than ${maxAliasCount} times by its aliases and by theirs; use fewer aliases.`
    : sentence(message)
}

/** What follows a fault of syntax follows from it: a tab, or else the first fault. Keys that stand twice are faults each. */
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
  // By hand: the library's own walk costs a tenth of what parsing does.
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

/** The aliases of a text against the anchors before them, in the order of the text. */
class Aliases {
  readonly #anchors = new Set<string>()
  /** Anchors of what is being looked at. */
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

/** Lines of a block scalar start below its header and keep their length; in a quoted one only the line it starts on is sure. */
function placeInside(text: string, node: Scalar, inside: SourcePosition, lines: LineCounter): SourcePosition {
  const start = lines.linePos(startOf(node))
  if (node.type === Scalar.BLOCK_LITERAL) return { line: start.line + inside.line, column: inside.column + blockIndent(text, node) }
  return { line: start.line, column: inside.line === 1 && node.type === Scalar.PLAIN ? start.col + inside.column - 1 : start.col }
}

/** Of the first line below the header that holds anything. */
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

// Bytes of a document as text. Decoded leniently, an umlaut in Latin-1 would be stored as U+FFFD, and nobody would hear of it.

/** The message for invalid UTF-8. */
export const notUtf8 = "The file is not valid UTF-8. Save it in that encoding."

/** Without a byte order mark. undefined where it is not UTF-8, or holds NUL, as UTF-16 does. */
export function utf8Text(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes)
    return text.includes("\0") ? undefined : text
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}
