// Converts HTML to text, for messages without a text part.
import { type DefaultTreeAdapterMap, parse } from "parse5"

type Node = DefaultTreeAdapterMap["node"]

const unseen = new Set(["head", "script", "style", "template", "noscript", "title", "svg", "object", "iframe"])
const blocks = new Set([
  "address",
  "article",
  "blockquote",
  "br",
  "div",
  "dd",
  "dt",
  "h1",
  "h2",
  "h3",
  "h4",
  "h5",
  "h6",
  "hr",
  "li",
  "p",
  "pre",
  "section",
  "table",
  "tr",
  "ul",
  "ol",
])

export function textOfHtml(html: string): string {
  const texts: string[] = []
  // A list instead of recursion: a message may nest elements without limit.
  const open: (Node | string)[] = [parse(html)]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (typeof node === "string") texts.push(node)
    else if (node.nodeName === "#text") texts.push((node as DefaultTreeAdapterMap["textNode"]).value.replace(/[ \t\r\n\f]+/g, " "))
    else if ("childNodes" in node && !unseen.has(node.nodeName)) {
      const inner = node.childNodes.toReversed()
      for (const one of blocks.has(node.nodeName) ? ["\n", ...inner, "\n"] : inner) open.push(one)
    }
  }
  return texts
    .join("")
    .replace(/ *\n */g, "\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim()
}
