// A run of the kind `script`: the script receives rows of its declared datasets and the last run's result. The returned value
// becomes an event for the heartbeat's pipeline. A repeated run produces the same event, because the event's identity is derived
// from the run.
import type { Clock, Json, Scripts } from "#core"
import type { PipelineEngine, PipelineSource } from "#core/engine"
import type { Datasets } from "../../../data/datasets/index.ts"
import type { RunOutcome, StoredRun } from "../collections.ts"
import type { HeartbeatFields, StoredHeartbeat } from "../heartbeat.ts"

export interface ScriptDeps {
  readonly scripts: Scripts
  readonly datasets: Datasets
  readonly engine: PipelineEngine
  readonly source: PipelineSource
  readonly clock: Clock
}

const maxResultBytes = 262_144

export async function runScript(deps: ScriptDeps, organization: string, heartbeat: StoredHeartbeat, run: StoredRun): Promise<RunOutcome> {
  const { id, name, script_js: source, previous, pipeline_slug } = heartbeat
  const rows: Record<string, Json> = {}
  for (const declared of heartbeat.datasets) rows[declared.slug] = await rowsOf(deps.datasets, organization, declared)
  const input = { now: run.due_at, heartbeat: { id, name }, run_id: run.id, previous, datasets: rows }
  const { logs, ...result } = await deps.scripts.run({
    organization,
    id,
    source,
    input,
    now: deps.clock.now(),
    seed: run.id,
    maxResultBytes,
  })
  if (!result.ok) {
    const where = result.line === undefined ? "" : ` (line ${result.line})`
    return { ok: false, reason: `script_${result.kind}`, message: `${result.message}${where}`, ...(logs && { logs }) }
  }
  const isSent = result.value !== null && pipeline_slug !== ""
  const outcome = isSent
    ? await submitEvent(deps, organization, pipeline_slug, run, result.value)
    : { ok: true as const, result: result.value }
  return logs ? { ...outcome, logs } : outcome
}

async function submitEvent(
  { engine, source }: ScriptDeps,
  organization: string,
  slug: string,
  run: StoredRun,
  event: Json,
): Promise<RunOutcome> {
  const pipeline = await source.bySlug(organization, slug)
  if (!pipeline) return { ok: false, reason: "pipeline_not_found", message: `The pipeline "${slug}" does not exist any more.` }
  if (pipeline.document.state !== "active")
    return { ok: false, reason: "not_active", message: `The pipeline "${slug}" is ${pipeline.document.state}; activate it.` }
  const { execution_id, status } = await engine.submit(pipeline, { payload: event, idempotencyKey: run.id })
  if (status === "accepted") return { ok: true, result: event, execution_id }
  const message = `The pipeline "${slug}" ${status} the event; see execution ${execution_id}.`
  return { ok: false, reason: `event_${status}`, message, execution_id }
}

/** Returns the selected rows of a dataset, newest first. */
async function rowsOf(
  datasets: Datasets,
  organization: string,
  { slug, filter, limit }: HeartbeatFields["datasets"][number],
): Promise<Json> {
  const dataset = await datasets.require(organization, slug)
  const query = await datasets.query(organization, dataset, { filter, sort: "" })
  const rows = await datasets.rows(organization).find(query.filter, { sort: query.sort, limit })
  return rows.map(({ id, values, created_at, updated_at }) => ({ id, values, created_at, updated_at }))
}
