// Returns a pipeline's compiled graph as a picture with recent outcomes of each step, and the schema of documents.
import { z } from "zod"
import { AnyJson, AppError, defineOperation, SlugOrId, Store, Timestamp } from "#core"
import { Actions, AuthModes, Declarations, documentSchema, PipelineEngine, type Step } from "#core/engine"
import { countedEvents, countsOf } from "../graph/counts.ts"
import { drawGraph } from "../graph/drawing.ts"
import { layoutOf } from "../graph/layout.ts"
import { EventPipelines } from "../pipelines.ts"
import { madePipeline } from "./examples.ts"

const Count = z.int().min(0)

const GraphStep = z
  .object({
    id: z.string(),
    type: z.string(),
    side: z.enum(["before_reply", "after_reply"]),
    is_handler: z.boolean().describe("Whether it runs only where a step fails that names it."),
    needs: z.array(z.string()),
    on_error: z.string().describe("`fail`, `continue`, or the handler."),
    done: Count,
    skipped: Count,
    failed: Count,
    pending: Count.describe("Waiting or running."),
  })
  .meta({ id: "GraphStep" })

export const getGraph = defineOperation({
  name: "event_pipelines.graph",
  summary: "Draw a pipeline's compiled graph, with what became of each step in its newest events.",
  description: `Counts are of the newest ${countedEvents} entries of the execution log; tests do not count. The picture is an SVG without script that loads nothing; texts in it are escaped.`,
  http: { method: "GET", path: "/v1/event-pipelines/{slug}/graph" },
  access: { scope: "event_pipelines:read", role: "guest" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({ slug: SlugOrId }),
  output: z.object({
    pipeline: z.string(),
    revision: z.int(),
    events: z.object({ accepted: Count, rejected: Count, failed: Count }).describe("Events that the counts are of."),
    since: Timestamp.nullable().describe("When the oldest of them was received; null without events."),
    steps: z.array(GraphStep).describe("In an order in which they can run; handlers follow."),
    svg: z.string(),
  }),
  errors: ["not_found", "failed_precondition", "unavailable"],
  examples: [madePipeline],
  inject: { pipelines: EventPipelines, engine: PipelineEngine, store: Store },
  async handle({ input, caller, deps }) {
    const { organization } = caller
    const record = await deps.pipelines.get(organization.id, input.slug)
    const compilation = await deps.engine.compile(record.document, organization)
    if (!compilation.ok) {
      const message = `The document of "${record.slug}" does not compile any more: ${compilation.findings.find(({ level }) => level === "error")?.message ?? ""}`
      throw new AppError("failed_precondition", message, { reason: "not_compiled" })
    }
    const { graph } = compilation
    const counts = await countsOf(deps.store, organization.id, record.id)
    const layout = layoutOf(graph)
    const { accepted, rejected, failed } = counts.events
    const stepOf = (step: Step, is_handler: boolean) => ({
      id: step.id,
      type: step.action.type,
      side: step.deferred ? ("after_reply" as const) : ("before_reply" as const),
      is_handler,
      needs: [...step.needs],
      on_error: typeof step.onError === "object" ? step.onError.handler : step.onError,
      ...(counts.steps.get(step.id) ?? { done: 0, skipped: 0, failed: 0, pending: 0 }),
    })
    return {
      pipeline: record.slug,
      revision: record.revision,
      events: counts.events,
      since: counts.since,
      steps: [
        ...[...graph.immediate, ...graph.deferred].map((step) => stepOf(step, false)),
        ...[...graph.handlers.values()].map((step) => stepOf(step, true)),
      ],
      svg: drawGraph({ name: record.name, layout, counts: counts.steps, events: accepted + rejected + failed }),
    }
  },
})

export const getSchema = defineOperation({
  name: "pipeline_schema.get",
  summary: "Read the JSON Schema of pipeline documents, with the action types and auth modes that are installed.",
  http: { method: "GET", path: "/v1/pipeline-schema" },
  access: { scope: "event_pipelines:read", role: "guest" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({}),
  output: z.object({ schema: z.record(z.string(), AnyJson) }),
  errors: [],
  inject: { declared: Declarations },
  handle: ({ deps }) => ({ schema: documentSchema(deps.declared.items(Actions), deps.declared.items(AuthModes)) as Record<string, never> }),
})
