// Fields of a form body: urlencoded, or the plain fields of a multipart body (file parts are skipped).
import { hasTooManyFields, maxFormFields } from "#core"

export type FormFields = readonly (readonly [name: string, value: string])[]

/** The fields in the order they were sent, none of a form with too many; undefined when the content type is no form. */
export function formFields(contentType: string, body: Buffer): FormFields | undefined {
  const type = contentType.split(";", 1)[0]?.trim().toLowerCase()
  if (type === "application/x-www-form-urlencoded") {
    const text = body.toString("utf8")
    return hasTooManyFields(text) ? [] : [...new URLSearchParams(text)]
  }
  if (type !== "multipart/form-data") return undefined
  const boundary = /boundary=(?:"([^"]{1,70})"|([^\s;]{1,70}))/i.exec(contentType)
  const mark = boundary?.[1] ?? boundary?.[2]
  return mark === undefined ? [] : multipartFields(body.toString("utf8"), `--${mark}`)
}

function multipartFields(text: string, mark: string): FormFields {
  const fields: [string, string][] = []
  for (const part of `\r\n${text}`.split(`\r\n${mark}`, maxFormFields + 2).slice(1)) {
    if (part.startsWith("--")) break
    if (fields.length === maxFormFields) return []
    const headerEnd = part.indexOf("\r\n\r\n")
    if (headerEnd < 0) continue
    const disposition = /^content-disposition:(.*)$/im.exec(part.slice(0, headerEnd))?.[1] ?? ""
    const name = /;\s*name="([^"]*)"/i.exec(disposition)?.[1]
    if (name === undefined || /;\s*filename\*?=/i.test(disposition)) continue
    fields.push([name, part.slice(headerEnd + 4)])
  }
  return fields
}

/** Fields as an object, a repeated one as a list. A field named `json` that holds JSON text stays text. */
export function formDocument(fields: FormFields): Record<string, unknown> {
  const document: Record<string, unknown> = Object.create(null)
  for (const [name, value] of fields) {
    const earlier = document[name]
    if (earlier === undefined) document[name] = value
    else if (Array.isArray(earlier)) earlier.push(value)
    else document[name] = [earlier, value]
  }
  return document
}
