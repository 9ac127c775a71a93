// What does not stop a page from being published, and keeps it from doing what it was made for.
import type { StoredPage } from "./collections.ts"
import { isOwn } from "./serving/html.ts"
import type { Owner, PageParts } from "./serving/parts.ts"
import { tagsOf } from "./serving/tags.ts"

interface VariantForms {
  readonly key: string
  readonly fields: readonly FormField[]
}

/** Of a published page; others have no visitors. */
export async function warningsOf(parts: PageParts, organization: Owner, page: StoredPage): Promise<string[]> {
  if (page.status !== "published") return []
  const own = markupWarnings(page)
  const withForms = page.variants.flatMap(({ key, html }): VariantForms[] => {
    const fields = ownFields(html)
    return fields ? [{ key, fields }] : []
  })
  if (withForms.length === 0) return own
  const connected = (await parts.formTarget(organization, page)) !== undefined
  return [...own, ...(connected ? [] : [unconnected(withForms, page)]), ...files(withForms), ...names(withForms, parts)]
}

/** What its own markup does to the page's events. */
function markupWarnings({ variants }: StoredPage): string[] {
  const policies: string[] = []
  const saved: string[] = []
  for (const { key, html } of variants) {
    for (const { name, closes, attributes } of tagsOf(html)) {
      if (closes) continue
      if (name === "meta" && attributes.get("http-equiv")?.toLowerCase() === "content-security-policy") policies.push(key)
      if (name === "script" && attributes.has("data-mr")) saved.push(key)
    }
  }
  return [
    ...(policies.length === 0
      ? []
      : [
          `own_policy: ${listed(policies)} has its own Content-Security-Policy. Unless it allows scripts from, and connections to, this service, no events of the page arrive.`,
        ]),
    ...(saved.length === 0
      ? []
      : [
          `saved_page: ${listed(saved)} was saved from a browser and contains the service's script element (with data-mr). It has no effect; remove it.`,
        ]),
  ]
}

function unconnected(withForms: readonly VariantForms[], page: StoredPage): string {
  const keys = withForms.map(({ key }) => key).join(", ")
  return `form_not_connected: No active record_capture pipeline takes the form of ${keys}, so submissions are lost. Create one with owner_artifact_id ${page.id} and auth_mode public_artifact.`
}

function files(withForms: readonly VariantForms[]): string[] {
  return withForms.flatMap(({ key, fields }) => {
    const found = listed(fields.filter(({ isFile }) => isFile).map(({ name }) => name))
    if (found === "") return []
    return `form_takes_file: Files are not supported, and a form of ${key} has file inputs (${found}). As multipart/form-data, a submission with a file is rejected; otherwise only the file's name is sent.`
  })
}

function names(withForms: readonly VariantForms[], parts: PageParts): string[] {
  return withForms.flatMap(({ key, fields }) => {
    // What the form says of the visit is not a column.
    const given = fields.map(({ name }) => name).filter((name) => !name.startsWith("_envelope."))
    const found = listed(given.flatMap((name) => withProblem(name, parts.problemOfField(name))))
    if (found === "") return []
    return `field_name: A form of ${key} has fields whose names cannot be columns (${found}). A pipeline that writes the whole event fails for every submission; rename them, or list the columns in the pipeline's row.`
  })
}

function withProblem(name: string, problem: string | undefined): string[] {
  return problem === undefined ? [] : [`${name.slice(0, maxShown).toWellFormed()} ${problem}`]
}

const maxShown = 60
const maxListed = 5

function listed(found: readonly string[]): string {
  const distinct = [...new Set(found)]
  const more = distinct.length > maxListed ? [`${distinct.length - maxListed} more`] : []
  return [...distinct.slice(0, maxListed), ...more].join(", ")
}

// The page's own forms as its author should know them: which fields they send. Pure.

interface FormField {
  /** As it is sent. */
  readonly name: string
  readonly isFile: boolean
}

const controls: ReadonlySet<string> = new Set(["input", "select", "textarea", "button"])

/** The fields of all forms that belong to the page, as far as its HTML tells; undefined where none does. */
function ownFields(html: string): readonly FormField[] | undefined {
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
