// Lists events of all pipelines by outcome, and finds events by text.
import { z } from "zod"
import { AppError, Clock, defineOperation, Pager, pageInput, resultOf, Settings, SlugOrId, Store, Timestamp, token } from "#core"
import { retainedEntry } from "#core/engine"
import { EventPipelines, Execution, executionSummary, newestEntries, PipelineSlugs, seesPayloads } from "../../pipelines/index.ts"
import type { Finder } from "../finding/finder.ts"

export const FinderToken = token<Finder>("EventFinder")

const columns = ["received_at", "pipeline_slug", "status", "cause", "id", "error.step", "is_test", "replay_of"]

export const listEvents = defineOperation({
  name: "events.list",
  summary: "List the events of all pipelines, newest first.",
  http: { method: "GET", path: "/v1/events" },
  access: { scope: "events:read", role: "guest" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  columns,
  input: z.strictObject({
    pipeline: SlugOrId.optional().describe("Slug or UUID of a pipeline."),
    status: Execution.shape.status.optional(),
    cause: z.string().min(1).max(200).optional().describe("Stable word for the failure."),
    is_test: z.boolean().optional(),
    since: Timestamp.optional().describe("Received at or after."),
    until: Timestamp.optional().describe("Received before."),
    ...pageInput,
  }),
  output: z.object({ events: z.array(Execution), next_cursor: z.string() }),
  errors: ["invalid_argument", "not_found"],
  examples: [{ input: {} }, { input: { status: "failed", is_test: false } }],
  resource: { uri: "millrace://events" },
  inject: { pipelines: EventPipelines, slugs: PipelineSlugs, store: Store, pager: Pager, clock: Clock, settings: Settings },
  async handle({ input, caller, deps }) {
    const organization = caller.organization.id
    const { pipeline, limit, cursor, ...filter } = input
    const one = pipeline === undefined ? undefined : (await deps.pipelines.get(organization, pipeline)).id
    const from = {
      store: deps.store,
      organization,
      pipelines: async () => [...(await deps.slugs.of(organization)).keys()],
      pipeline: one,
      filter,
    }
    const { items, next_cursor } = await deps.pager.pageOf({
      organization,
      cursorScope: `events ${JSON.stringify([one, filter])}`,
      sort: { received_at: -1 },
      request: { limit, cursor },
      read: (most, after) => newestEntries({ ...from, limit: most, after }),
    })
    const { payloads_days } = deps.settings.retention
    const now = deps.clock.now()
    return { events: items.map((entry) => executionSummary(retainedEntry(entry, payloads_days, now), seesPayloads(caller))), next_cursor }
  },
})

export const findEvents = defineOperation({
  name: "events.find",
  summary: "Find events by any piece of them: an id, an address, an order number, a URL, words of the payload.",
  description:
    "Every word of the text must be in the event: in its payload, query, headers, ids, reply or rows. What stands between spaces is looked for as a whole first, such as an address. Fields that are redacted are not searched. Events are found as long as their payload is stored; later by the id of the execution alone.",
  http: { method: "GET", path: "/v1/events/find" },
  access: { scope: "events:read", role: "member" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  columns,
  input: z.strictObject({
    text: z.string().min(1).max(2_000).describe("What is known of the event."),
    limit: z.int().min(1).max(200).default(50).describe("How many events are returned, the newest."),
  }),
  output: z.object({
    events: z.array(Execution),
    complete: z
      .boolean()
      .describe("False where there may be more: more than `limit`, or words that so many events hold that not all were looked at."),
    indexed_through: z
      .string()
      .describe("Events received up to then are in the index; of later ones the newest are read. Empty where there is none."),
  }),
  errors: ["invalid_argument"],
  examples: [
    {
      given: {
        pipeline: {
          operation: "event_pipelines.create",
          input: { name: "Orders of events", state: "active", source_kind: "internal", pipeline: [] },
        },
        event: {
          operation: "event_pipelines.send_event",
          input: { slug: resultOf("pipeline.slug"), payload: { order: "A-1042", email: "ada@example.com" } },
        },
      },
      input: { text: "A-1042" },
    },
  ],
  inject: { finder: FinderToken },
  async handle({ input, caller, deps }) {
    const found = await deps.finder.find(caller.organization.id, input.text, input.limit)
    if (found) return { ...found, events: found.events.map((entry) => executionSummary(entry, true)) }
    const message = "the text holds no word of two letters or digits; give a word, an address, an id or a number of the event."
    throw new AppError("invalid_argument", `text: ${message}`, { reason: "nothing_to_find", fields: [{ path: "text", message }] })
  },
})
