// The live channel that warns of events which differ from before.
import { defineChannel, type Live, type UnitOfWork } from "#core"
import type { StoredPipeline } from "#core/engine"
import type { Drift } from "./findings.ts"

export const schemaDriftChannel = defineChannel({
  name: "schema_drift",
  scope: "event_pipelines:read",
  summary: "Differences of a pipeline's events from its schema and from its events before, each when it is first found.",
})

export function stageDrift(live: Live, work: UnitOfWork, { id, slug, organization }: StoredPipeline, drift: Drift): void {
  const { kind, path, since, events, rejected, message } = drift
  const data = { pipeline: slug, pipeline_id: id, id: drift.id, kind, path, since, events, rejected, message }
  live.stage(work, organization.id, { channel: "schema_drift", event: "drift", data })
}
