// Extracts the text of an HTML document, with headings and list items in Markdown. Runs in the reading process.
import { type DefaultTreeAdapterTypes, parse } from "parse5"
import type { ReadResult, ReadTask } from "./protocol.ts"

type Node = DefaultTreeAdapterTypes.Node

const unread = new Set(["script", "style", "noscript", "template", "head", "svg", "iframe", "object", "nav"])
const blocks = new Set(
  "address article aside blockquote dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr li main ol p pre section table td th tr ul".split(
    " ",
  ),
)

export function readHtml(document: string, { maxCharacters }: ReadTask): ReadResult {
  const { title, text } = written(parse(document), 2 * maxCharacters)
  if (text === "") return { kind: "fault", fault: "no_text", message: "The document has no text." }
  if (text.length > maxCharacters) return tooLong(maxCharacters)
  return { kind: "text", title: title.slice(0, 300), text }
}

/** Uses a stack instead of recursion, because the depth of a document is unbounded. */
function written(root: Node, maxCharacters: number): { title: string; text: string } {
  const parts: string[] = []
  let [length, title] = [0, ""]
  const nodes: (Node | string)[] = [root]
  for (let node = nodes.pop(); node !== undefined && length <= maxCharacters; node = nodes.pop()) {
    const text = textOf(node)
    if (text !== undefined) {
      parts.push(text)
      length += text.length
    } else if (typeof node !== "string" && "childNodes" in node) {
      const name = "tagName" in node ? node.tagName : ""
      if (name === "head") title = titleOf(node.childNodes)
      if (!unread.has(name)) nodes.push(...around(name, node.childNodes))
    }
  }
  return { title, text: tidied(parts.join("")) }
}

function textOf(node: Node | string): string | undefined {
  if (typeof node === "string") return node
  return "value" in node ? node.value.replace(/\s+/g, " ") : undefined
}

/** Returns the parts of an element in reverse order. */
function around(name: string, children: readonly Node[]): (Node | string)[] {
  const inner = children.toReversed()
  if (name === "br") return ["\n"]
  if (!blocks.has(name)) return inner
  const heading = /^h[1-6]$/.test(name) ? `\n${"#".repeat(Number(name[1]))} ` : ""
  return ["\n", ...inner, `\n${heading}${name === "li" ? "- " : ""}`]
}

function titleOf(nodes: readonly Node[]): string {
  for (const node of nodes) {
    if (!("tagName" in node) || node.tagName !== "title") continue
    const [text] = node.childNodes
    return text && "value" in text ? text.value.replace(/\s+/g, " ").trim() : ""
  }
  return ""
}

export function tidied(text: string): string {
  return text
    .replace(/[ \t\r]+/g, " ")
    .replace(/ ?\n ?/g, "\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim()
    .toWellFormed()
}

export function tooLong(maxCharacters: number): ReadResult {
  const message = `The document has more than ${maxCharacters} characters; split it.`
  return { kind: "fault", fault: "too_long", message }
}
