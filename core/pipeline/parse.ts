// The text of a pipeline file, YAML 1.2 or JSON, as a value whose every part knows its line and column. Whatever is
// wrong with the text is a finding with its place; nothing is thrown.
import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, type Pair, parseDocument, Scalar, visit } from "yaml"
import type { Finding } from "./findings.ts"
import { finding } from "./lint/finding.ts"
import type { RuleId } from "./lint/rules.ts"
import { keysOf } from "./pointer.ts"

export interface Place {
  readonly line: number
  readonly column: number
}

/** Where a pointer stands, or a line and column (from 1) inside the text value there. The nearest known part answers for a missing one. */
export type Locate = (pointer: string, inside?: Place) => Place | undefined

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
const maxAliases = 100

export function parseText(text: string, { refuseLiteralSecrets = false }: ParseOptions = {}): ParsedText {
  if (text.length > maxLength) {
    const message = `The text has ${text.length} characters; the limit is ${maxLength}.`
    return { value: undefined, findings: [finding("invalid-syntax", "", message)], locate: () => undefined }
  }
  const lines = new LineCounter()
  try {
    const document = parseDocument(text, {
      keepSourceTokens: true,
      lineCounter: lines,
      prettyErrors: false,
      uniqueKeys: true,
      strict: true,
      logLevel: "error",
    })
    const locate = locator(document, lines)
    const problems = syntaxFindings(document, lines)
    if (problems.length > 0) return { value: undefined, findings: problems, locate }
    const value: unknown = document.toJS({ maxAliasCount: maxAliases })
    // Anchors that hold themselves throw here, and what aliases repeat counts in full.
    if (JSON.stringify(value).length > maxLength) throw new Error(`With its aliases the document has more than ${maxLength} characters`)
    return { value, findings: refuseLiteralSecrets ? secretFindings(value, locate) : [], locate }
  } catch (error) {
    // Nesting that exhausts the stack, aliases that multiply.
    const message = error instanceof RangeError ? "The text is nested too deeply." : sentence((error as Error).message)
    return { value: undefined, findings: [finding("invalid-syntax", "", message, { line: 1, column: 1 })], locate: () => undefined }
  }
}

function syntaxFindings(document: Document.Parsed, lines: LineCounter): Finding[] {
  const found: Finding[] = []
  const add = (message: string, offset: number, rule: RuleId = "invalid-syntax") => {
    const { line, col } = lines.linePos(offset)
    found.push(finding(rule, "", message, { line, column: col }))
  }
  for (const problem of [...document.errors, ...document.warnings]) {
    if (problem.code === "DUPLICATE_KEY") add("This key stands twice in the same object; remove one.", problem.pos[0])
    else if (problem.code === "MULTIPLE_DOCS") add("One file holds one document; split it at this line.", problem.pos[0])
    else add(sentence(problem.message), problem.pos[0])
  }
  if (found.length > 0) return found
  visit(document, {
    Scalar(_, node) {
      if (typeof node.value === "number" && !Number.isFinite(node.value)) add(`${node.source ?? "This"} is no JSON number.`, startOf(node))
      else if (typeof node.value === "bigint") add(`${node.source ?? "This"} is too large for a number; put it in quotes.`, startOf(node))
    },
    Alias(_, node) {
      if (!node.resolve(document)) add(`There is no anchor "${node.source}" for this alias.`, startOf(node))
    },
    Pair(_, pair) {
      const { key } = pair
      if (isScalar(key) && key.value === "__proto__") add('A key cannot be named "__proto__".', startOf(key))
      else if (key !== null && (!isScalar(key) || typeof key.value === "object")) add("A key must be plain text.", startOf(key as Node))
    },
  })
  return found
}

function secretFindings(value: unknown, locate: Locate): Finding[] {
  const config = (value as { auth_config?: { secret?: unknown } | null } | null)?.auth_config
  if (typeof config?.secret !== "string") return []
  const pointer = "/auth_config/secret"
  const message = "A file cannot hold a secret. Put it in an environment variable and write { from_env: NAME } here."
  return [finding("literal-secret", pointer, message, locate(pointer))]
}

function locator(document: Document.Parsed, lines: LineCounter): Locate {
  return (pointer, inside) => {
    const { node, key } = find(document, pointer)
    const offset = key ? startOf(key) : node ? startOf(node) : 0
    const { line, col } = lines.linePos(offset)
    if (!inside || !isScalar(node)) return { line: Math.max(line, 1), column: Math.max(col, 1) }
    return placeInside(node, inside, lines)
  }
}

/** Lines of a block scalar start below its header and keep their length; in a quoted one only the line it starts on is sure. */
function placeInside(node: Scalar, inside: Place, lines: LineCounter): Place {
  const start = lines.linePos(startOf(node))
  if (node.type === Scalar.BLOCK_LITERAL) return { line: start.line + inside.line, column: inside.column + blockIndent(node) }
  return { line: start.line, column: inside.line === 1 && node.type === Scalar.PLAIN ? start.col + inside.column - 1 : start.col }
}

function blockIndent(node: Scalar): number {
  const token = node.srcToken
  const source = token && "source" in token ? token.source : ""
  return /^ */.exec(source.split("\n").find((line) => line.trim() !== "") ?? "")?.[0].length ?? 0
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
