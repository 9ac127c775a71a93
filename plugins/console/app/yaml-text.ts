// Parses a document (YAML 1.2 or JSON) with line positions, and writes YAML. Runs in the browser, so a slow text delays only its
// author.
import { type Document, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument, Scalar, stringify, visit } from "yaml"
import type { Finding } from "./editor.tsx"
import { isRounded } from "./exact-json.ts"

export interface Position {
  readonly line: number
  readonly column: number
}

export interface DocumentText {
  /** Undefined for an unreadable text. The findings contain the reason. */
  readonly value: unknown
  readonly findings: readonly Finding[]
  /**
   * Returns the position of a pointer, or of a line and column inside its text value. For a missing part, the position of its
   * parent.
   */
  readonly locate: (pointer: string, inside?: Position) => Position
}

const maxAliasCount = 100

export function read(text: string): DocumentText {
  const lines = new LineCounter()
  const at = (offset: number): Position => {
    const { line, col } = lines.linePos(offset)
    return { line: Math.max(1, line), column: Math.max(1, col) }
  }
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: "error" })
  const refusal = (message: string, offset: number) => ({
    value: undefined,
    findings: [{ severity: "error" as const, message, ...at(offset) }],
    locate: () => at(offset),
  })
  const [fault] = document.errors
  if (fault) return refusal(fault.message, fault.pos[0])
  const rounded = roundedNumber(document)
  if (rounded) return refusal(`A number cannot hold the integer ${rounded.source} exactly; put it in quotes.`, rounded.range?.[0] ?? 0)
  try {
    return { value: document.toJS({ maxAliasCount }) as unknown, findings: [], locate: locator(document.contents as Node | null, at) }
  } catch (error) {
    return refusal((error as Error).message, 0)
  }
}

/** The first rounded integer. */
function roundedNumber(document: Document): Scalar | undefined {
  let rounded: Scalar | undefined
  visit(document, {
    Scalar(_key, node) {
      if (typeof node.value !== "number" || !isRounded(node.value, node.source ?? "")) return undefined
      rounded = node
      return visit.BREAK
    },
  })
  return rounded
}

export function write(value: object): string {
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false })
}

function locator(contents: Node | null, at: (offset: number) => Position): DocumentText["locate"] {
  return (pointer, inside) => {
    const { node, start } = find(contents, pointer)
    const place = at(start)
    if (!inside || !isScalar(node)) return place
    if (node.type === Scalar.BLOCK_LITERAL) return { line: at(node.range?.[0] ?? start).line + inside.line, column: 1 }
    return at(node.range?.[0] ?? start)
  }
}

function find(contents: Node | null, pointer: string): { readonly node: Node | null; readonly start: number } {
  let node = contents
  let start = node?.range?.[0] ?? 0
  for (const part of pointer.split("/").slice(1)) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~")
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === name)
      if (!pair) break
      start = (pair.key as Node).range?.[0] ?? start
      node = pair.value as Node | null
    } else if (isSeq(node)) {
      const item = node.items[Number(name)] as Node | undefined
      if (!item) break
      start = item.range?.[0] ?? start
      node = item
    } else break
  }
  return { node, start }
}
