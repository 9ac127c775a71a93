// Warnings about a page that do not stop its publication but lose events or entries of visitors.

import { type FormField, ownForms } from "./own-fields.ts"
import type { StoredPage } from "./page.ts"
import type { Owner, PageParts } from "./serving/parts.ts"
import { tagsOf } from "./serving/tags.ts"

interface VariantForms {
  readonly key: string
  readonly fields: readonly FormField[]
  readonly isPlain: boolean
}

/** Also checks drafts, so the author reads the warnings before the publication. An archived page has no warnings. */
export async function warningsOf(parts: PageParts, organization: Owner, page: StoredPage): Promise<string[]> {
  if (page.status === "archived") return []
  const own = markupWarnings(page)
  const withForms = page.variants.flatMap(({ key, html }): VariantForms[] => {
    const forms = ownForms(html)
    return forms ? [{ key, ...forms }] : []
  })
  if (withForms.length === 0) return own
  // A pipeline is usually created after the draft.
  const isConnected = page.status === "draft" || (await parts.formTarget(organization, page)) !== undefined
  const connection = isConnected ? [] : [unconnected(withForms, page)]
  return [...own, ...connection, ...unnamed(withForms), ...plain(withForms), ...files(withForms), ...names(withForms, parts)]
}

/** Effects of the page's own markup on its events. */
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

function unnamed(withForms: readonly VariantForms[]): string[] {
  return withForms.flatMap(({ key, fields }) => {
    const list = listed(fields.flatMap(({ name, label }) => (name === "" ? [shortened(label)] : [])))
    if (list === "") return []
    return `field_without_name: A form of ${key} has fields without a name (${list}). No browser sends these fields, so the entries of visitors are lost. Add a name attribute to each field.`
  })
}

function plain(withForms: readonly VariantForms[]): string[] {
  return withForms.flatMap(({ key, isPlain }) => {
    if (!isPlain) return []
    return `form_is_plain: A form of ${key} has enctype="text/plain", and its submissions are refused. Remove the attribute.`
  })
}

function files(withForms: readonly VariantForms[]): string[] {
  return withForms.flatMap(({ key, fields }) => {
    const list = listed(fields.filter(({ name, isFile }) => isFile && name !== "").map(({ name }) => name))
    if (list === "") return []
    return `form_takes_file: A form of ${key} has file inputs (${list}). A pipeline accepts files unless its auth_mode is none or its accept_files is false; give the form enctype="multipart/form-data", or only the names of files are sent.`
  })
}

function names(withForms: readonly VariantForms[], parts: PageParts): string[] {
  return withForms.flatMap(({ key, fields }) => {
    // Envelope fields are not columns.
    const inputs = fields.map(({ name }) => name).filter((name) => name !== "" && !name.startsWith("_envelope."))
    const list = listed(inputs.flatMap((name) => withProblem(name, parts.problemOfField(name))))
    if (list === "") return []
    return `field_name: A form of ${key} has fields whose names cannot be columns (${list}). A pipeline that writes the whole event stores them under other names, such as a_b for a.b. Rename the fields to choose the columns.`
  })
}

function withProblem(name: string, problem: string | undefined): string[] {
  return problem === undefined ? [] : [`${shortened(name)} ${problem}`]
}

function shortened(name: string): string {
  return name.slice(0, maxShown).toWellFormed()
}

const maxShown = 60
const maxListed = 5

function listed(texts: readonly string[]): string {
  const distinct = [...new Set(texts)]
  const more = distinct.length > maxListed ? [`${distinct.length - maxListed} more`] : []
  return [...distinct.slice(0, maxListed), ...more].join(", ")
}
