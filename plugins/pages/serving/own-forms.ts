// The page's own forms as its author should know them: which fields they send. Pure.
import { isOwn } from "./html.ts"
import { tagsOf } from "./tags.ts"

export interface FormField {
  /** As it is sent. */
  readonly name: string
  readonly isFile: boolean
}

const controls: ReadonlySet<string> = new Set(["input", "select", "textarea", "button"])

/** The fields of all forms that belong to the page, as far as its HTML tells; undefined where none does. */
export function ownFields(html: string): readonly FormField[] | undefined {
  const fields: { readonly field: FormField; readonly form: string | undefined }[] = []
  const ids = new Set<string>()
  let found = false
  let inside = false
  for (const { name, closes, attributes } of tagsOf(html)) {
    if (name === "form") {
      inside = !closes && isOwn(attributes)
      found ||= inside
      const id = attributes.get("id")
      if (inside && id) ids.add(id)
    } else if (!closes && controls.has(name)) {
      const field = fieldOf(attributes)
      const form = attributes.get("form")
      if (field.name !== "" && (inside || form !== undefined)) fields.push({ field, form })
    }
  }
  // A control that names its form may stand anywhere, before it too.
  return found ? fields.filter(({ form }) => form === undefined || ids.has(form)).map(({ field }) => field) : undefined
}

function fieldOf(attributes: ReadonlyMap<string, string>): FormField {
  const name = attributes.get("name") ?? ""
  const type = attributes.get("type")?.toLowerCase()
  // A picture to click sends where it was clicked.
  return { name: type === "image" && name !== "" ? `${name}.x` : name, isFile: type === "file" }
}
