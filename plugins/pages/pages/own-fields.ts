// Reads the fields of the page's own forms from its HTML. Pure.
import { isOwn } from "./serving/html.ts"
import { type Tag, tagsOf } from "./serving/tags.ts"

export interface FormField {
  /** Field name sent by the browser; "" for a field that no browser sends. */
  readonly name: string
  /** Label of an unnamed field in warnings for the author: its id, placeholder or type. */
  readonly label: string
  readonly isFile: boolean
}

export interface OwnForms {
  readonly fields: readonly FormField[]
  /** True if a form has the encoding text/plain. No program can read it reliably. */
  readonly isPlain: boolean
}

const controls: ReadonlySet<string> = new Set(["input", "select", "textarea", "button"])
/** Types of controls without an answer of the visitor. */
const buttons: ReadonlySet<string> = new Set(["submit", "reset", "button", "image", "hidden"])

/** Returns the fields of all forms that belong to the page, or undefined if no form does. */
export function ownForms(html: string): OwnForms | undefined {
  const fields: { readonly field: FormField; readonly form: string | undefined }[] = []
  const ids = new Set<string>()
  let isFound = false
  let inside = false
  let isPlain = false
  for (const tag of tagsOf(html)) {
    const { name, closes, attributes } = tag
    if (name === "form") {
      inside = !closes && isOwn(attributes)
      isFound ||= inside
      isPlain ||= inside && attributes.get("enctype")?.trim().toLowerCase() === "text/plain"
      const id = attributes.get("id")
      if (inside && id) ids.add(id)
    } else if (!closes && controls.has(name)) {
      const field = readField(tag)
      const form = attributes.get("form")
      if (field && (inside || form !== undefined)) fields.push({ field, form })
    }
  }
  if (!isFound) return undefined
  // A control with a `form` attribute may be anywhere in the page.
  const own = fields.filter(({ form }) => form === undefined || ids.has(form))
  return { fields: own.map(({ field }) => field), isPlain }
}

/** Returns undefined for an unnamed button. */
function readField({ name: tag, attributes }: Tag): FormField | undefined {
  const name = attributes.get("name") ?? ""
  const type = attributes.get("type")?.trim().toLowerCase() ?? ""
  const isFile = tag === "input" && type === "file"
  if (name !== "") return { name: tag === "input" && type === "image" ? `${name}.x` : name, label: name, isFile }
  if (tag === "button" || (tag === "input" && buttons.has(type))) return undefined
  const label = attributes.get("id") || attributes.get("aria-label") || attributes.get("placeholder") || type || tag
  return { name: "", label, isFile }
}
