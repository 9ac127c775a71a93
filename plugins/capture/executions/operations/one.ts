// Reads one event by its ID alone and lists its replays. Copies the event as a command, a test or a report.
import { z } from "zod"
import { AppError, Clock, defineList, defineOperation, Ids, PublicUrl, resultOf, Settings, Store, Uuid } from "#core"
import { EntryCollection, type JournalEntry, PipelineEngine, PipelineSource, retainedEntry, type StoredPipeline } from "#core/engine"
import { Execution, ExecutionDetail, executionDetail, executionSummary, seesPayloads } from "../../pipelines/index.ts"
import { type CameIn, cameIn } from "../copying/came-in.ts"
import { asInternalCurl, asSenderCurl } from "../copying/curl.ts"
import { reportOf } from "../copying/report.ts"
import { testFileOf } from "../copying/test-file.ts"

const path = "/v1/events/{id}"
const input = z.strictObject({ id: Uuid.describe("Of the execution.") })
const inject = { store: Store, clock: Clock, settings: Settings }
const errors = ["not_found", "failed_precondition"] as const
const hints = { readOnly: true, destructive: false, idempotent: true }

const example = {
  given: {
    pipeline: {
      operation: "event_pipelines.create",
      input: { name: "Copied orders", state: "active", source_kind: "internal", pipeline: [] },
    },
    event: { operation: "event_pipelines.send_event", input: { slug: resultOf("pipeline.slug"), payload: { order: "A-1042" } } },
  },
  input: { id: resultOf("event.execution_id") },
}

async function entryOf(store: Store, organization: string, id: string): Promise<JournalEntry> {
  const entry = await store.open(EntryCollection, organization).get(id)
  if (entry) return entry
  throw new AppError("not_found", `The event ${id} does not exist, or is no longer kept.`, { reason: "event_not_found" })
}

export const getEvent = defineOperation({
  name: "events.get",
  summary: "Read one event by its id alone: the complete record of its execution.",
  http: { method: "GET", path },
  access: { scope: "events:read", role: "guest" },
  hints,
  input,
  output: ExecutionDetail,
  errors: ["not_found"],
  examples: [example],
  inject,
  async handle({ input: { id }, caller, deps }) {
    const entry = await entryOf(deps.store, caller.organization.id, id)
    return executionDetail(retainedEntry(entry, deps.settings.retention.payloads_days, deps.clock.now()), seesPayloads(caller))
  },
})

export const listReplays = defineList({
  name: "events.list_replays",
  summary: "List the replays of an event, newest first.",
  path: `${path}/replays`,
  access: { scope: "events:read", role: "guest" },
  columns: ["received_at", "status", "cause", "id", "error.step"],
  input: input.shape,
  examples: [example],
  inject,
  collection: EntryCollection,
  async where({ id }, { organization, deps }) {
    await entryOf(deps.store, organization, id)
    return { replay_of: id }
  },
  sort: { received_at: -1 },
  items: { events: Execution },
  view: (entry, { caller, deps: { clock, settings } }) =>
    executionSummary(retainedEntry(entry, settings.retention.payloads_days, clock.now()), seesPayloads(caller)),
})

interface Sources {
  readonly store: Store
  readonly clock: Clock
  readonly settings: { readonly retention: { readonly payloads_days: number } }
  readonly source: PipelineSource
}

interface Copied {
  readonly entry: JournalEntry
  readonly came: CameIn
  readonly stored: StoredPipeline
}

/** Copies the original of a repeat. The repeat itself was not processed. */
async function copied({ store, clock, settings, source }: Sources, organization: string, id: string): Promise<Copied> {
  const asked = await entryOf(store, organization, id)
  const entry = asked.repeat_of === null ? asked : await entryOf(store, organization, asked.repeat_of)
  const came = await cameIn({ store, days: settings.retention.payloads_days, now: clock.now() }, organization, entry)
  const stored = await source.byId(organization, entry.pipeline_id)
  if (stored) return { entry, came, stored }
  const message = `The event pipeline "${entry.pipeline_slug}" does not exist.`
  throw new AppError("not_found", message, { reason: "event_pipeline_not_found" })
}

export const getCurl = defineOperation({
  name: "events.get_curl",
  summary: "Read an event as a curl command that sends it once more, signed as of now.",
  description:
    "It holds a signature of this one event and no secret. A sender that shows its secret itself has a variable in its place; what only the sender can sign is not signed. Fields that are redacted in the journal are redacted in it. It lets its holder send the event, and so takes the right to send events.",
  http: { method: "GET", path: `${path}/curl` },
  access: { scope: "event_pipelines:write", role: "member" },
  hints,
  input,
  output: z.object({
    curl: z.string(),
    proof: z
      .enum(["none", "signed", "secret", "sender", "key"])
      .describe(
        "`none`: the pipeline asks for no proof; `signed`: it is signed; `secret`: to be completed with the sender's secret; `sender`: only the sender can sign; `key`: to be completed with an API key.",
      ),
    note: z.string().describe("What is left to do; empty where nothing is."),
  }),
  errors,
  examples: [example],
  inject: { ...inject, source: PipelineSource, engine: PipelineEngine, publicUrl: PublicUrl },
  async handle({ input: { id }, caller, deps }) {
    const { came, entry, stored } = await copied(deps, caller.organization.id, id)
    const { headers, query, contentType, body } = came
    const all = { ...headers, "content-type": contentType }
    const request = await deps.engine.asSender(stored, { headers: all, query, body: Buffer.from(body) })
    if (request) return asSenderCurl(came, request)
    return asInternalCurl(`${deps.publicUrl()}/v1/event-pipelines/${stored.slug}/events`, body, entry.is_test)
  },
})

export const getTest = defineOperation({
  name: "events.get_test",
  summary: "Read an event as a test of its pipeline, for `millrace pipelines test`.",
  description:
    "The test sends the event as it came, lets other systems answer as they did, and expects what became of it; of values that belong to the one execution, such as ids of rows, it expects the type. Fields that are redacted in the journal are redacted in it.",
  http: { method: "GET", path: `${path}/test` },
  access: { scope: "events:read", role: "member" },
  hints,
  input,
  output: z.object({ file_name: z.string(), yaml: z.string() }),
  errors,
  examples: [example],
  inject: { ...inject, source: PipelineSource, engine: PipelineEngine, ids: Ids },
  async handle({ input: { id }, caller, deps }) {
    const { came, entry, stored } = await copied(deps, caller.organization.id, id)
    const { headers, query, contentType, body, json } = came
    const refused = (why: string) => new AppError("failed_precondition", `The event is not a test: ${why}.`, { reason: "not_a_test" })
    if (stored.document.owner_artifact_id !== null) throw refused("its pipeline belongs to a page, which a test has not")
    const all = { ...headers, "content-type": contentType }
    const request = await deps.engine.asSender(stored, { headers: all, query, body: Buffer.from(body) })
    if (request?.proof.kind === "sender") throw refused("only its sender can sign it")
    const flat = Object.fromEntries(Object.entries(query).map(([name, value]) => [name, String(value)]))
    const { event_id, event_type } = entry.verdict
    const origin = {
      id: deps.ids.uuid(),
      receivedAt: Date.parse(entry.received_at),
      ...(event_id !== null && { eventId: event_id }),
      ...(event_type !== null && { eventType: event_type }),
      isTest: entry.is_test,
    }
    const dry = deps.engine.dryRun(stored, { body: json, headers: all, query: flat, origin })
    const ran = await dry.catch((error: unknown) => {
      if (error instanceof AppError && error.code === "failed_precondition") return undefined
      throw error
    })
    const yaml = testFileOf({ entry, came, proof: request?.proof.headers ?? {}, dry: ran })
    return { file_name: `${entry.pipeline_slug}.${entry.id}.test.yaml`, yaml }
  },
})

export const getReport = defineOperation({
  name: "events.get_report",
  summary: "Read an event as a report in Markdown, with what is redacted in the journal redacted.",
  http: { method: "GET", path: `${path}/report` },
  access: { scope: "events:read", role: "member" },
  hints,
  input,
  output: z.object({ report: z.string() }),
  errors: ["not_found"],
  examples: [example],
  inject,
  async handle({ input: { id }, caller, deps: { store, clock, settings } }) {
    const organization = caller.organization.id
    const days = settings.retention.payloads_days
    const now = clock.now()
    const entry = retainedEntry(await entryOf(store, organization, id), days, now)
    const came = await cameIn({ store, days, now }, organization, entry).catch((error: unknown) => {
      if (error instanceof AppError && error.details.reason === "payload_expired") return undefined
      throw error
    })
    return { report: reportOf(entry, came) }
  },
})
