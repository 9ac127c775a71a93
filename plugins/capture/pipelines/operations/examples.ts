// Shared setup for examples of several operations.
import { resultOf } from "#core"

const payload = { email: "ada@example.com", name: "Ada Lovelace", budget: 5_000 }
const event = { operation: "event_pipelines.send_event", input: { slug: resultOf("pipeline.slug"), payload } }

export const madePipeline = { given: { pipeline: "event_pipelines.create" }, input: { slug: resultOf("pipeline.slug") } }

const execution = { slug: resultOf("pipeline.slug"), id: resultOf("event.execution_id") }

/** An accepted event. */
export const taken = { given: { ...madePipeline.given, event }, input: execution }

/** An event whose call to another system failed permanently. */
export const notDelivered = {
  given: {
    pipeline: {
      operation: "event_pipelines.create",
      input: {
        name: "Tell the CRM",
        state: "active",
        pipeline: [{ id: "tell", type: "http.request", url: "https://crm.example.com/leads", retry: { max_attempts: 1 } }],
      },
    },
    event,
  },
  input: execution,
}

export const document = {
  name: "Website lead",
  slug: "website-lead",
  state: "active",
  source_kind: "browser_form",
  auth_mode: "none",
  pipeline: [{ id: "save", type: "dataset.write", dataset_slug: "leads", key: "email" }],
}
