// The name of something to be made, and the forms of it that templates hold.
import { slugOf } from "../../contract/fields.ts"
import { BootError } from "../../kernel/config.ts"

/** Words in lower case with - between: what folders are called. */
export function parseName(text: string, what: string): string {
  if (/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(text) && text.length <= 50) return text
  const near = slugOf(text.replaceAll(".", "-"), "plugin").replace(/^[0-9-]+/, "")
  const rule = "lower-case letters and digits, words with - between, a letter first, 50 characters at most"
  throw new BootError([`"${text}" cannot be the name of ${what}: ${rule}.${near && near !== text ? ` Did you mean "${near}"?` : ""}`])
}

/** `lead-score` is the action `lead.score`; what follows a third word stays with the second. */
export function actionType(name: string): string {
  return name.replace("-", ".").replaceAll("-", "_")
}

export function snakeCase(name: string): string {
  return name.replaceAll("-", "_")
}

/** A text of a template, with the name in place of the sample's in each form. */
export function named(text: string, name: string): string {
  const words = name.replaceAll("-", " ")
  const header = name.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase())
  return text
    .replaceAll("sample.name", actionType(name))
    .replaceAll("sample_name", snakeCase(name))
    .replaceAll("sample-name", name)
    .replaceAll("Sample-Name", header)
    .replaceAll("SampleName", header.replaceAll("-", ""))
    .replaceAll("sample name", words)
    .replaceAll("Sample name", words.charAt(0).toUpperCase() + words.slice(1))
}
