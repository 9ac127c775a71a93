// Extracts the visible text of a page: headings, paragraphs, links, buttons and fields. Scripts, hidden fields and attributes
// could identify the variant and are left out. parse5 handles hostile HTML, and the tree walk has no recursion.
import { type DefaultTreeAdapterTypes, parse } from "parse5"

type Node = DefaultTreeAdapterTypes.Node
type Element = DefaultTreeAdapterTypes.Element

const maxCharacters = 20_000
const unseen = new Set(["script", "style", "template", "noscript", "head", "svg", "canvas", "iframe", "object"])
const blocks = new Set(
  "address article aside blockquote br dd div dl dt fieldset figcaption footer form header hr label li main nav ol p pre section table td th tr ul".split(
    " ",
  ),
)
const headings = /^h[1-6]$/

/** Returns at most 20,000 characters. */
export function pageText(html: string): string {
  let text = ""
  const say = (more: string) => {
    text += more
  }
  const stack: (Node | string)[] = [parse(html)]
  for (let node = stack.pop(); node !== undefined && text.length < maxCharacters * 2; node = stack.pop()) {
    if (typeof node === "string") say(node)
    else if (node.nodeName === "#text") say((node as DefaultTreeAdapterTypes.TextNode).value.replace(/\s+/g, " "))
    else if ("childNodes" in node) stack.push(...partsOf(node as Element).reverse())
  }
  return text
    .replace(/[ \t]*\n[ \t]*/g, "\n")
    .replace(/ {2,}/g, " ")
    .replace(/\n{3,}/g, "\n\n")
    .trim()
    .slice(0, maxCharacters)
}

/** Returns the children, with the text before and after them. */
function partsOf(element: Element): (Node | string)[] {
  const { tagName = "", childNodes } = element
  if (unseen.has(tagName) || isHidden(element)) return []
  if (tagName === "input" || tagName === "img" || tagName === "textarea" || tagName === "select") return [lone(element)]
  if (headings.test(tagName)) return [`\n\n${"#".repeat(Number(tagName[1]))} `, ...childNodes, "\n"]
  if (tagName === "button") return [" [button: ", ...childNodes, "] "]
  if (tagName === "a") return [" [link: ", ...childNodes, "] "]
  if (tagName === "li") return ["\n- ", ...childNodes]
  return blocks.has(tagName) ? ["\n", ...childNodes, "\n"] : [...childNodes]
}

function lone(element: Element): string {
  const { tagName = "" } = element
  if (tagName === "img") return attribute(element, "alt") === "" ? "" : ` [picture: ${attribute(element, "alt")}] `
  if (tagName !== "input" && tagName !== "textarea" && tagName !== "select") return ""
  const type = attribute(element, "type").toLowerCase()
  if (type === "hidden") return ""
  if (type === "submit" || type === "button") return ` [button: ${attribute(element, "value") || "Submit"}] `
  const kind = tagName === "select" ? "choice" : type || "text"
  const name = attribute(element, "aria-label") || attribute(element, "placeholder") || kind
  const isRequired = element.attrs.some((attr) => attr.name === "required")
  return ` [field: ${name}${isRequired ? ", required" : ""}] `
}

function isHidden({ attrs = [] }: Element): boolean {
  return attrs.some(({ name, value }) => name === "hidden" || (name === "style" && /display\s*:\s*none/i.test(value)))
}

function attribute({ attrs }: Element, attributeName: string): string {
  return attrs.find(({ name }) => name === attributeName)?.value.trim() ?? ""
}
