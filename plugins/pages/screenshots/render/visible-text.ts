// Extracts the visible text of a page after its scripts ran: headings, paragraphs, links, buttons and fields.
// Excludes attributes, hidden parts, addresses and names of fields. Runs in the page.
import type { Page } from "playwright-core"

const maxCharacters = 20_000

const look = `(() => {
  const unseen = new Set(["SCRIPT", "STYLE", "TEMPLATE", "NOSCRIPT", "IFRAME", "OBJECT", "CANVAS", "VIDEO", "AUDIO", "OPTION"])
  let text = ""
  const isClipped = (element, style) => {
    const box = element.getBoundingClientRect()
    const isTiny = box.width <= 1 || box.height <= 1
    return (isTiny && style.overflow !== "visible") || box.right + window.scrollX <= 0 || box.bottom + window.scrollY <= 0
  }
  const childrenOf = (element) => {
    if (element.shadowRoot) return [...element.shadowRoot.childNodes]
    const given = element.tagName === "SLOT" ? element.assignedNodes({ flatten: true }) : []
    return given.length > 0 ? given : [...element.childNodes]
  }
  const fieldOf = (element) => {
    const type = element.tagName === "INPUT" ? element.type : element.tagName === "SELECT" ? "choice" : "text"
    if (type === "submit" || type === "button" || type === "reset") return " [button: " + (element.value || "Submit") + "] "
    const name = element.getAttribute("aria-label") || element.placeholder || type
    return " [field: " + name + (element.required ? ", required" : "") + "] "
  }
  const partsOf = (element) => {
    const tag = element.tagName.toUpperCase()
    if (unseen.has(tag) || element instanceof SVGElement) return []
    if (!element.checkVisibility({ opacityProperty: true })) return []
    if (tag === "BR") return ["\\n"]
    const style = getComputedStyle(element)
    if (style.display !== "contents" && !style.display.startsWith("inline") && isClipped(element, style)) return []
    if (tag === "IMG") return element.alt === "" ? [] : [" [picture: " + element.alt + "] "]
    if (tag === "INPUT" || tag === "TEXTAREA" || tag === "SELECT") return [fieldOf(element)]
    const children = childrenOf(element)
    if (/^H[1-6]$/.test(tag)) return ["\\n\\n" + "#".repeat(Number(tag[1])) + " ", ...children, "\\n"]
    if (tag === "BUTTON") return [" [button: ", ...children, "] "]
    if (tag === "A" && element.hasAttribute("href")) return [" [link: ", ...children, "] "]
    if (tag === "LI") return ["\\n- ", ...children]
    return style.display.startsWith("inline") || style.display === "contents" ? children : ["\\n", ...children, "\\n"]
  }
  const stack = document.body ? [document.body] : []
  while (stack.length > 0 && text.length < ${maxCharacters * 2}) {
    const node = stack.pop()
    if (typeof node === "string") text += node
    else if (node.nodeType === Node.ELEMENT_NODE) stack.push(...partsOf(node).reverse())
    else if (node.nodeType === Node.TEXT_NODE) {
      const parent = node.parentElement
      if (!parent || parent.checkVisibility({ visibilityProperty: true })) text += node.data.replace(/\\s+/g, " ")
    }
  }
  return text
})()`

/** Returns at most 20,000 characters; undefined if the page blocks reading. */
export async function visibleText(page: Page): Promise<string | undefined> {
  const text = await page.evaluate<unknown>(look).catch(() => undefined)
  if (typeof text !== "string") return undefined
  return text
    .replace(/[ \t]*\n[ \t]*/g, "\n")
    .replace(/ {2,}/g, " ")
    .replace(/\n{3,}/g, "\n\n")
    .trim()
    .slice(0, maxCharacters)
}
