// Converts XML to JSON. Runs in the sandbox: the service's own realm never parses a sender's XML. Elements become members without
// their prefix, attributes become members with @, and repeated elements become lists. An element with only text becomes its text.
// A SOAP envelope is reduced to the content of its body. Document types are refused.

export const xmlScript = String.raw`
const names = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" }
const maxDepth = 64

function script(input) {
  const text = input.text.charCodeAt(0) === 0xfeff ? input.text.slice(1) : input.text
  const root = { name: "", children: [], text: "", attributes: [] }
  const open = [root]
  let at = 0
  while (at < text.length) {
    const start = text.indexOf("<", at)
    const end = start < 0 ? text.length : start
    if (end > at) addText(open, decoded(text.slice(at, end)))
    if (start < 0) break
    if (text.startsWith("<!--", start)) at = after(text, "-->", start + 4)
    else if (text.startsWith("<![CDATA[", start)) {
      at = after(text, "]]>", start + 9)
      addText(open, text.slice(start + 9, at - 3))
    } else if (text.startsWith("<?", start)) at = after(text, "?>", start + 2)
    else if (text.startsWith("<!", start)) throw new Error("it has a document type, which is not accepted")
    else at = readTag(text, start, open)
  }
  if (open.length !== 1) throw new Error("the element " + open[open.length - 1].name + " is not closed")
  if (root.children.length !== 1) throw new Error("it has " + root.children.length + " root elements in place of one")
  return objectOf(contentOf(root.children[0]), new Set(input.lists))
}

function readTag(text, start, open) {
  let end = start + 1
  let quote = ""
  for (; end < text.length; end++) {
    const sign = text[end]
    if (quote !== "") {
      if (sign === quote) quote = ""
    } else if (sign === '"' || sign === "'") quote = sign
    else if (sign === ">") break
  }
  if (end >= text.length) throw new Error("a tag is not closed")
  const inner = text.slice(start + 1, end)
  if (inner[0] === "/") {
    const name = inner.slice(1).trim()
    const top = open.pop()
    if (open.length === 0 || top.name !== name) throw new Error("the end of " + name + " has no start")
    return end + 1
  }
  const isEmpty = inner.endsWith("/")
  const tag = isEmpty ? inner.slice(0, -1) : inner
  const name = /^[^\s\/>="'<]+/.exec(tag)
  if (!name) throw new Error("a tag has no name")
  const element = { name: name[0], children: [], text: "", attributes: attributesOf(tag.slice(name[0].length)) }
  open[open.length - 1].children.push(element)
  if (!isEmpty) {
    if (open.length >= maxDepth) throw new Error("it has more than " + maxDepth + " levels")
    open.push(element)
  }
  return end + 1
}

function attributesOf(text) {
  const found = []
  for (const [, name, , double, single] of text.matchAll(/([^\s=]+)\s*=\s*("([^"<]*)"|'([^'<]*)')/g))
    if (!/^xmlns(?::|$)/.test(name)) found.push([name, decoded(double === undefined ? single : double)])
  return found
}

function addText(open, text) {
  if (open.length > 1) open[open.length - 1].text += text
  else if (text.trim() !== "") throw new Error("it has text outside of its root element")
}

function decoded(text) {
  return text.replace(/&(#x[0-9a-fA-F]{1,6}|#[0-9]{1,7}|[A-Za-z]{1,8});/g, (whole, name) => {
    if (name[0] !== "#") {
      if (!Object.hasOwn(names, name)) throw new Error("it has the unknown entity " + whole)
      return names[name]
    }
    const code = name[1] === "x" ? parseInt(name.slice(2), 16) : parseInt(name.slice(1), 10)
    if (!(code > 0 && code <= 0x10ffff)) throw new Error("it has the unknown character " + whole)
    return String.fromCodePoint(code)
  })
}

function after(text, mark, from) {
  const at = text.indexOf(mark, from)
  if (at < 0) throw new Error("it ends before " + mark)
  return at + mark.length
}

function plain(name) {
  return name.slice(name.indexOf(":") + 1)
}

function contentOf(root) {
  if (plain(root.name) !== "Envelope") return root
  const body = root.children.find((child) => plain(child.name) === "Body")
  return body && body.children.length === 1 ? body.children[0] : root
}

function objectOf(element, lists) {
  const value = valueOf(element, lists)
  return typeof value === "string" || value === null ? { [plain(element.name)]: value } : value
}

function valueOf(element, lists) {
  const isNull = element.attributes.some(([name, value]) => plain(name) === "nil" && value === "true")
  if (isNull && element.children.length === 0) return null
  if (element.children.length === 0 && element.attributes.length === 0) return element.text
  const members = new Map()
  const add = (name, value) => {
    const values = members.get(name)
    if (values) values.push(value)
    else members.set(name, [value])
  }
  for (const [name, value] of element.attributes) add("@" + plain(name), value)
  for (const child of element.children) add(plain(child.name), valueOf(child, lists))
  const own = element.text.trim()
  if (own !== "") add("#text", own)
  const out = Object.create(null)
  for (const [name, values] of members) out[name] = values.length > 1 || lists.has(name) ? values : values[0]
  return out
}
`
