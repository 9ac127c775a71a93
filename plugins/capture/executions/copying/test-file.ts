// Writes an event as a test of its pipeline: the payload, the responses of other systems and the outcome. A second, dry run with
// another ID finds the values unique to one execution, such as row IDs. The test accepts any value of their type.
import { Document, visit } from "yaml"
import { AppError, type Json, parsedJson } from "#core"
import { type DryRun, type JournalEntry, redacted, type SenderRequest } from "#core/engine"
import { type CameIn, visible } from "./came-in.ts"

type Proof = SenderRequest["proof"]

export interface TestFileArgs {
  readonly entry: JournalEntry
  readonly came: CameIn
  /** Headers with the signature. The test signs by itself. */
  readonly proof: Proof["headers"]
  /** Dry run with another ID. Undefined if the event cannot run. */
  readonly dry: DryRun | undefined
}

export function testFileOf({ entry, came, proof, dry }: TestFileArgs): string {
  const { id, pipeline_slug, received_at, revision, status } = entry
  const file = {
    pipeline: `${pipeline_slug}.yaml`,
    clock: received_at,
    tests: [
      { name: `${status} as it was: ${id}`, ...fixtures(entry, dry), event: eventOf(came, proof), expect: expected(entry, came, dry) },
    ],
  }
  const about = [
    `# The event ${id} of ${pipeline_slug}, revision ${revision}, received at ${received_at}.`,
    "# Beside the pipeline's document: millrace pipelines test",
  ]
  if (JSON.stringify(came).includes(redacted)) about.push(`# Values that are redacted in the journal are ${redacted} here.`)
  return `${about.join("\n")}\n${yaml(file)}`
}

function eventOf({ body, json, isForm, contentType, headers, query }: CameIn, proof: Proof["headers"]) {
  const kept = Object.fromEntries(Object.entries(headers).filter(([name, value]) => (proof[name] ?? value) === value))
  const repeated = Object.values(query).some(Array.isArray)
  if (repeated)
    throw new AppError("failed_precondition", "The event's query has a parameter twice, which a test file cannot say.", {
      reason: "not_a_test",
    })
  const fields = parsedJson(json)
  const form = isForm && Object.values(fields as object).every((value) => typeof value === "string")
  const type = /^application\/json\b/i.test(contentType) || form ? {} : { "content-type": contentType }
  const all = { ...type, ...kept }
  return {
    ...(form ? { form: fields } : { body: isForm || isExact(fields, body) ? body : fields }),
    ...(Object.keys(all).length > 0 && { headers: all }),
    ...(Object.keys(query).length > 0 && { query }),
  }
}

/** Returns true if the body must be sent unchanged: invalid JSON, a JSON string, or numbers too long for a JavaScript number. */
function isExact(fields: unknown, body: string): boolean {
  return fields === undefined || typeof fields === "string" || /\d{16}/.test(body)
}

interface Preview {
  readonly method?: string
  readonly url?: string
  readonly integration?: string
  readonly path?: string
}

interface Call {
  readonly method?: string
  readonly url: string
  readonly answer: object
}

/** Returns the responses of other systems, assigned to the calls of the dry run. */
function fixtures({ steps }: JournalEntry, dry: DryRun | undefined) {
  const http: Call[] = []
  const integrations: Record<string, { calls: Call[] }> = {}
  for (const sent of (dry?.effects.sends ?? []) as unknown as { step: string; preview: Preview | null }[]) {
    const { method, url, integration, path } = sent.preview ?? {}
    const call = { ...(typeof method === "string" && { method }), answer: answerOf(steps[sent.step]) }
    if (typeof url === "string") http.push({ ...call, url: url.split("?")[0] ?? url })
    if (typeof integration === "string" && typeof path === "string") {
      integrations[integration] ??= { calls: [] }
      integrations[integration].calls.push({ ...call, url: path.split("?")[0] ?? path })
    }
  }
  return { ...(http.length > 0 && { http }), ...(Object.keys(integrations).length > 0 && { integrations }) }
}

function answerOf(step: JournalEntry["steps"][string] | undefined): object {
  if (step?.state === "failed") return { fails: step.error?.message ?? "it failed" }
  const { status, body } = (step?.result ?? {}) as { status?: Json; body?: Json }
  const code = typeof status === "number" ? { status } : {}
  if (body === undefined || body === null) return code
  return typeof body === "string" ? { ...code, body } : { ...code, json: body }
}

function expected({ status, cause, response, steps, transformed, schema_errors }: JournalEntry, came: CameIn, dry: DryRun | undefined) {
  const states = Object.entries(steps).filter(([, { state }]) => state !== "pending" && state !== "running")
  const body = response === null ? undefined : (parsedJson(response.body) as Json | undefined)
  const dryBody = dry?.effects.response?.body
  const journal = {
    ...(cause !== "" && { cause }),
    ...(schema_errors.length > 0 && { schema_errors: schema_errors.map(({ pointer }) => ({ pointer })) }),
    ...(isWhole(transformed) && dry && { transformed: masked(came, transformed, dry.transformed) }),
    ...(states.length > 0 && { steps: Object.fromEntries(states.map(([id, { state }]) => [id, { state }])) }),
  }
  return {
    verdict: "verified",
    status,
    ...(response && {
      response: { status: response.status, ...(body !== undefined && dryBody !== undefined && { body: masked(came, body, dryBody) }) },
    }),
    ...(Object.keys(journal).length > 0 && { journal }),
  }
}

/** Returns false if the journal holds only the beginning of the text, because the value was large. */
function isWhole(transformed: Json): boolean {
  return typeof transformed === "object" && transformed !== null
}

const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi

/**
 * Returns values equal in both runs as they are, and a type matcher for the others. IDs absent from the payload, such as row IDs,
 * also become matchers.
 */
function masked(came: CameIn, one: Json, other: Json | undefined): Json {
  if (Array.isArray(one)) {
    if (!Array.isArray(other) || other.length !== one.length) return any(one)
    return one.map((item, at) => masked(came, item, other[at]))
  }
  if (typeof one === "object" && one !== null) {
    if (typeof other !== "object" || other === null || Array.isArray(other)) return any(one)
    const entries = Object.entries(one)
    // A test would read this object as a matcher.
    if (entries.length === 1 && entries[0]?.[0].startsWith("$")) return any(one)
    return Object.fromEntries(entries.map(([name, value]) => [name, masked(came, value, other[name])]))
  }
  const isOwn = typeof one === "string" && (one.match(uuid) ?? []).some((id) => !came.body.includes(id))
  return one === other && !isOwn ? one : any(one)
}

function any(value: Json): Json {
  return { $any: value === null ? "absent" : Array.isArray(value) ? "list" : typeof value }
}

/** Puts strings with hidden characters in double quotes, with escape codes. */
function yaml(value: object): string {
  const document = new Document(value, { aliasDuplicateObjects: false })
  visit(document, {
    Scalar(_key, node) {
      if (typeof node.value === "string" && visible(node.value) !== node.value) node.type = "QUOTE_DOUBLE"
    },
  })
  return visible(document.toString({ lineWidth: 0 }))
}
