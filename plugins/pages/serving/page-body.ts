// The body of an event that was sent to a page's own address, with the page's envelope in it: as fields of a form, or as
// the `_envelope` of a JSON object. What cannot be read is handed on as it came, to be refused where events are read.
import { type FormFields, readForm } from "#core/engine"

/** Completes what the body itself says of the visit; what comes out wins. */
export type Complete = (said: Readonly<Record<string, unknown>>) => Promise<Readonly<Record<string, unknown>>>

export interface PageBody {
  readonly contentType: string
  readonly body: Buffer
}

const prefix = "_envelope."
const urlencoded = "application/x-www-form-urlencoded"

export async function withEnvelope(given: PageBody, complete: Complete): Promise<PageBody> {
  const form = readForm(given.contentType, given.body)
  if (!form) return (await asJson(given, complete)) ?? given
  return (await form.problem) === undefined ? await asForm(form.fields, complete) : given
}

async function asForm(fields: FormFields, complete: Complete): Promise<PageBody> {
  const isEnvelope = ([name]: FormFields[number]) => name.startsWith(prefix)
  const said = fields.filter(isEnvelope).map(([name, value]): Said => [name.slice(prefix.length), value])
  const envelope = Object.entries(await complete(withoutEmpty(said)))
  const all = [...fields.filter((field) => !isEnvelope(field)), ...envelope.map(([name, value]) => [prefix + name, String(value)])]
  return { contentType: urlencoded, body: Buffer.from(new URLSearchParams(all as [string, string][]).toString()) }
}

async function asJson({ contentType, body }: PageBody, complete: Complete): Promise<PageBody | undefined> {
  const document = parsed(body)
  if (!isObject(document)) return undefined
  const flat = Object.entries(document).filter(([name]) => name.startsWith(prefix))
  const nested = isObject(document["_envelope"]) ? Object.entries(document["_envelope"]) : []
  const envelope = await complete(withoutEmpty([...flat.map(([name, value]): Said => [name.slice(prefix.length), value]), ...nested]))
  // Put in last, where it counts before another of that name, and without writing the rest again: numbers keep their digits.
  const end = body.lastIndexOf("}")
  const comma = Object.keys(document).length > 0 ? "," : ""
  const added = Buffer.from(`${comma}"_envelope":${JSON.stringify(envelope)}`)
  return { contentType, body: Buffer.concat([body.subarray(0, end), added, body.subarray(end)]) }
}

type Said = [name: string, value: unknown]

function withoutEmpty(said: Said[]): Record<string, unknown> {
  return Object.fromEntries(said.filter(([, value]) => value !== ""))
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"))
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
