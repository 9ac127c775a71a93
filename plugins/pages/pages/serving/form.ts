// POST /p/{org}/{page}: a form of the page, sent by a browser with or without scripts, or by a script of the page.
// The event goes to the page's newest record capture pipeline, by the usual path, with the page in its envelope.
// A browser navigation is redirected to the page's thank-you anchor, unless the pipeline has its own reply.
import { AppError, isRecord, type PublicUrl, parsedJson, type RouteRequest, type RouteResponse } from "#core"
import { type FormFields, isJsonText, type PipelineEngine, type ReceivedFile, readForm } from "#core/engine"
import type { PageParts } from "./parts.ts"
import { type FieldProblem, type RefusedForm, refusedForm } from "./refused-form.ts"
import { formPath, notFound, type PageServing, thankYouAnchor } from "./serve.ts"
import type { PublicPage } from "./visits.ts"

export interface FormDeps {
  readonly serving: PageServing
  readonly parts: PageParts
  readonly engine: PipelineEngine
  readonly publicUrl: PublicUrl
  readonly now: () => number
}

type PipelineAnswer = Awaited<ReturnType<PipelineEngine["receive"]>>

const unconnected = "This form is not connected yet, so nothing was sent. Please tell the page's owner."
const unkept = "Something went wrong, and nothing was saved. Please tell the page's owner if it happens again."
/** Reasons that only the page's owner can fix: a fault of the pipeline, or a missing field of the form. */
const ofOwner = /^(?:event_not_storable|event_refused|reply_refused|transform_\w+)$/
const unaccepted = "This page cannot accept the form, and a retry would fail as well. Please tell the page's owner."

export async function takeForm(deps: FormDeps, request: RouteRequest): Promise<RouteResponse> {
  const publicPage = await deps.serving.published(request)
  if (!publicPage) return notFound()
  const page = formPath(publicPage)
  const navigated = /\btext\/html\b/.test(request.headers["accept"] ?? "")
  const body = { contentType: request.headers["content-type"] ?? "application/json", body: Buffer.from(await request.body()) }
  const answer = await deliver(deps, request, publicPage, body)
  if (!answer) {
    if (navigated) return refusedForm({ status: 404, why: unconnected, page, own: deps.serving.origins })
    throw new AppError("not_found", unconnected, { reason: "form_not_connected" })
  }
  if (navigated && answer.byDefault) return { status: 303, headers: { Location: `${page}#${thankYouAnchor}`, "Cache-Control": "no-store" } }
  if (navigated && answer.status >= 400)
    return refusedForm({
      status: answer.status,
      why: reasonOf(answer),
      page,
      own: deps.serving.origins,
      retryAfter: answer.headers["retry-after"],
      again: againOf(answer, body),
    })
  return { status: answer.status, headers: { "Cache-Control": "no-store", ...answer.headers }, body: answer.body }
}

/** Returns undefined if no active pipeline receives the page's forms. */
async function deliver(deps: FormDeps, request: RouteRequest, page: PublicPage, submitted: PageBody): Promise<PipelineAnswer | undefined> {
  const endpoint = await deps.parts.formTarget(page.organization, page.page)
  if (endpoint === undefined) return undefined
  const { contentType, body } = await withEnvelope(submitted, (fields) => deps.serving.visits.envelopeOf(request, page, fields))
  try {
    return await deps.engine.receive(endpoint, {
      method: "POST",
      url: `${deps.publicUrl()}/v1/inbound/${endpoint}`,
      headers: { ...request.headers, "content-type": contentType, "content-length": String(body.length) },
      query: Object.fromEntries(request.query),
      body,
      receivedAt: deps.now(),
    })
  } catch (error) {
    // The pipeline was disabled a moment ago.
    if (error instanceof AppError && error.code === "not_found") return undefined
    throw error
  }
}

/** Returns a message for visitors: correct the input, wait, or contact the owner. */
function reasonOf({ status, body }: PipelineAnswer): string {
  if (status > 500 || status === 429) return "Please try again in a moment."
  // A step failed. The cause is sometimes temporary, but mostly a fault of the page or the pipeline.
  if (status === 500 || isOfOwner(detailsOf(body).reason)) return unkept
  return status === 401 || status === 403 ? unaccepted : messageOf(body)
}

/**
 * Returns the entered fields and their problems if another attempt can succeed: after refused fields, a rate limit or a server
 * error.
 */
function againOf({ status, body }: PipelineAnswer, { contentType, body: requestBody }: PageBody): RefusedForm["again"] {
  const form = status === 400 || status === 429 || status >= 500 ? readForm(contentType, requestBody) : undefined
  if (!form || form.problem !== undefined) return undefined
  return { fields: form.fields, problems: status === 400 ? problemsIn(body) : [] }
}

function problemsIn(body: string): FieldProblem[] {
  const { reason, fields } = detailsOf(body)
  if (isOfOwner(reason) || !Array.isArray(fields)) return []
  return (fields as { path?: unknown; message?: unknown }[]).map(({ path, message }) => ({
    path: String(path ?? ""),
    message: String(message ?? ""),
  }))
}

function isOfOwner(reason: unknown): boolean {
  return typeof reason === "string" && ofOwner.test(reason)
}

function detailsOf(body: string): { readonly reason?: unknown; readonly fields?: unknown } {
  try {
    return (JSON.parse(body) as { details?: object }).details ?? {}
  } catch {
    return {}
  }
}

function messageOf(body: string): string {
  try {
    const { message } = JSON.parse(body) as { message?: unknown }
    return typeof message === "string" ? message : "Please check what you entered."
  } catch {
    return "Please check what you entered."
  }
}

// Adds the page's envelope to the body: as fields of a form, or as `_envelope` of a JSON object. An unreadable body passes
// unchanged; the event reader refuses it.

/** Completes the envelope fields of the body. The result replaces them. */
type Complete = (said: Readonly<Record<string, unknown>>) => Promise<Readonly<Record<string, unknown>>>

interface PageBody {
  readonly contentType: string
  readonly body: Buffer
}

const prefix = "_envelope."
const urlencoded = "application/x-www-form-urlencoded"

async function withEnvelope(body: PageBody, complete: Complete): Promise<PageBody> {
  const form = isJsonText(body.contentType, body.body) ? undefined : readForm(body.contentType, body.body)
  if (!form) return (await asJson(body, complete)) ?? body
  if (form.files && form.problem?.kind === "file") return await withFiles(form.files, await asForm(form.fields, complete))
  return form.problem === undefined ? await asForm(form.fields, complete) : body
}

/** Encodes the fields as multipart, the only form encoding with files. */
async function withFiles(files: readonly ReceivedFile[], { body }: PageBody): Promise<PageBody> {
  const form = new FormData()
  for (const [name, value] of new URLSearchParams(body.toString())) form.append(name, value)
  for (const { field, name, type, bytes } of files) form.append(field, new Blob([new Uint8Array(bytes)], { type }), name)
  const encoded = new Response(form)
  return { contentType: encoded.headers.get("content-type") ?? "", body: Buffer.from(await encoded.arrayBuffer()) }
}

async function asForm(fields: FormFields, complete: Complete): Promise<PageBody> {
  const isEnvelope = ([name]: FormFields[number]) => name.startsWith(prefix)
  const envelopeFields = fields.filter(isEnvelope).map(([name, value]): Said => [name.slice(prefix.length), value])
  const envelope = Object.entries(await complete(withoutEmpty(envelopeFields)))
  const all = [...fields.filter((field) => !isEnvelope(field)), ...envelope.map(([name, value]) => [prefix + name, String(value)])]
  return { contentType: urlencoded, body: Buffer.from(new URLSearchParams(all as [string, string][]).toString()) }
}

async function asJson({ contentType, body }: PageBody, complete: Complete): Promise<PageBody | undefined> {
  const document = parsedJson(body.toString("utf8").replace(/^\uFEFF/, ""))
  if (!isRecord(document)) return undefined
  const flat = Object.entries(document).filter(([name]) => name.startsWith(prefix))
  const nested = isRecord(document["_envelope"]) ? Object.entries(document["_envelope"]) : []
  const envelope = await complete(withoutEmpty([...flat.map(([name, value]): Said => [name.slice(prefix.length), value]), ...nested]))
  // Appended last, so it overrides an earlier member of the same name. The rest of the text is not rewritten, so numbers keep
  // their digits.
  const end = body.lastIndexOf("}")
  const comma = Object.keys(document).length > 0 ? "," : ""
  const added = Buffer.from(`${comma}"_envelope":${JSON.stringify(envelope)}`)
  return { contentType, body: Buffer.concat([body.subarray(0, end), added, body.subarray(end)]) }
}

type Said = [name: string, value: unknown]

function withoutEmpty(entries: Said[]): Record<string, unknown> {
  return Object.fromEntries(entries.filter(([, value]) => value !== ""))
}
