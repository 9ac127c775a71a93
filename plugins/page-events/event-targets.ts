// Where a served page sends its events: the endpoint of its page-events pipeline while that is active. Kept in memory
// until the pipeline changes, since every visit asks.
import { type Coherence, everyKey, pipelineTopic } from "#core"
import type { EventPipelines } from "../event-pipelines/index.ts"
import type { PageParts } from "../pages/index.ts"
import { pipelineIdOf } from "./pipeline.ts"

const remembered = 10_000

export function connectEventTargets(deps: { parts: PageParts; pipelines: EventPipelines; coherence: Coherence }): void {
  const { parts, pipelines, coherence } = deps
  /** By pipeline. */
  const known = new Map<string, string | undefined>()
  let generation = 0
  coherence.onChange(pipelineTopic, (key) => {
    generation++
    if (key === everyKey) known.clear()
    else known.delete(key)
  })
  parts.events(async (organization, page) => {
    const id = pipelineIdOf(page.id)
    if (known.has(id)) return known.get(id)
    const before = generation
    const found = await pipelines.find(organization.id, id)
    const endpoint = found?.state === "active" ? (found.endpoint_id ?? undefined) : undefined
    if (before === generation) {
      if (known.size >= remembered) known.clear()
      known.set(id, endpoint)
    }
    return endpoint
  })
}
