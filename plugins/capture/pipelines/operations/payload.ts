// Reads an execution's stored payload, for trying a changed document with real events.
import { z } from "zod"
import { AppError, Clock, defineOperation, Settings, SlugOrId, Store, Timestamp, Uuid } from "#core"
import { EntryCollection, redactedText, storedPayload } from "#core/engine"
import { EventPipelines } from "../pipelines.ts"
import { requireEntry } from "../rules.ts"
import { taken } from "./examples.ts"

export const getPayload = defineOperation({
  name: "event_pipelines.get_payload",
  summary: "Read the stored payload of an execution's event, without its proof.",
  http: { method: "GET", path: "/v1/event-pipelines/{slug}/executions/{id}/payload" },
  access: { scope: "event_pipelines:read", role: "member" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({ slug: SlugOrId, id: Uuid }),
  output: z.object({
    execution_id: Uuid,
    received_at: Timestamp,
    event_id: z.string().nullable(),
    event_type: z.string().nullable(),
    is_test: z.boolean(),
    body: z.string().describe("JSON text; values of fields that look like secrets are redacted."),
    headers: z.record(z.string(), z.string()),
    query: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
  }),
  errors: ["not_found", "failed_precondition"],
  examples: [taken],
  inject: { pipelines: EventPipelines, store: Store, clock: Clock, settings: Settings },
  async handle({ input, caller, deps }) {
    const organization = caller.organization.id
    const pipeline = await deps.pipelines.get(organization, input.slug)
    const entry = await requireEntry(deps.store, organization, pipeline, input.id)
    const first = entry.replay_of ?? entry.repeat_of
    const origin = first === null ? entry : await deps.store.open(EntryCollection, organization).get(first)
    const kept = origin && (await storedPayload(deps.store, organization, origin, deps.settings.retention.payloads_days, deps.clock.now()))
    if (!kept)
      throw new AppError("failed_precondition", "The event's payload is not stored: the event was rejected, or the payload has expired.", {
        reason: "payload_expired",
      })
    const { body, headers, query } = kept
    const { received_at, is_test, verdict } = entry
    return {
      execution_id: entry.id,
      received_at,
      event_id: verdict.event_id,
      event_type: verdict.event_type,
      is_test,
      body: redactedText(body),
      headers,
      query,
    }
  },
})
