// Renames fields with unstorable names in JSON text: a NUL in a name becomes `_`, and `__proto__` becomes `___proto__`. It does
// not parse the text, because a megabyte of JSON takes long to parse.
import type { StepWarning } from "../../contract/action.ts"
import { endOfString, isName } from "../../kernel/json-shape.ts"
import { childPointer } from "../findings.ts"

const suspect = /\\u0000|"__proto__"/
const maxShown = 80
/** Maximum renamed fields of a body. Each rename searches the whole text. */
const maxRenamed = 20
const maxTries = 10

/** Replaces as many names as the limit allows. The parser refuses the others. `warn` receives a note for each replaced name. */
export function withStorableNames(text: string, warn: (warning: StepWarning) => void): string {
  if (!suspect.test(text)) return text
  const given = new Set<string>()
  let [out, from] = ["", 0]
  for (let at = text.indexOf('"'); at >= 0 && given.size < maxRenamed; at = text.indexOf('"', at + 1)) {
    const end = endOfString(text, at)
    const name = text.slice(at + 1, end)
    const storable = isName(text, end + 1) ? storableName(name) : name
    const free = storable === name ? undefined : freeName(storable, text, given)
    if (free !== undefined) {
      given.add(free)
      out += text.slice(from, at + 1) + free
      from = end
      warn(noteOf(name, free))
    }
    at = end
  }
  return from === 0 ? text : out + text.slice(from)
}

/** The name is raw JSON text, between its quotes. */
function storableName(name: string): string {
  if (name === "__proto__") return "___proto__"
  // An escaped backslash may precede the text u0000.
  return name.includes("\\u0000") ? name.replaceAll(/\\(u0000|.)/g, (written, kind) => (kind === "u0000" ? "_" : written)) : name
}

/** Returns a name absent from the text, so no value is overwritten. */
function freeName(name: string, text: string, given: ReadonlySet<string>): string | undefined {
  for (let n = 1; n <= maxTries; n++) {
    const free = n === 1 ? name : `${name}_${n}`
    if (!given.has(free) && !text.includes(`"${free}"`)) return free
  }
  return undefined
}

function noteOf(name: string, free: string): StepWarning {
  const [shown, to] = [name, free].map((one) => one.replaceAll("\\u0000", "\uFFFD").slice(0, maxShown).toWellFormed())
  return { pointer: childPointer("", shown ?? ""), message: `Read as "${to}": no storage holds a field of this name.` }
}
