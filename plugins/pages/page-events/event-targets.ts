// Looks up the endpoint of a page's active page-events pipeline. Cached until the pipeline changes, since every visit reads it.
import { allKeys, type CacheInvalidation, token } from "#core"
import { pipelineTopic } from "#core/engine"
import type { EventPipelines } from "../../capture/pipelines/index.ts"
import { pipelineIdOf } from "./pipeline.ts"

export interface EventTargets {
  /** Returns undefined if first-party analytics are off for the page. */
  endpoint(organization: string, pageId: string): Promise<string | undefined>
}

export const EventTargets = token<EventTargets>("EventTargets")

const maxKnown = 10_000

export function createEventTargets({
  pipelines,
  invalidation,
}: {
  pipelines: EventPipelines
  invalidation: CacheInvalidation
}): EventTargets {
  /** By pipeline id. */
  const targets = new Map<string, string | undefined>()
  let generation = 0
  invalidation.onChange(pipelineTopic, (key) => {
    generation++
    if (key === allKeys) targets.clear()
    else targets.delete(key)
  })
  return {
    async endpoint(organization, pageId) {
      const id = pipelineIdOf(pageId)
      if (targets.has(id)) return targets.get(id)
      const before = generation
      const pipeline = await pipelines.find(organization, id)
      const endpoint = pipeline?.state === "active" ? (pipeline.endpoint_id ?? undefined) : undefined
      if (before === generation) {
        if (targets.size >= maxKnown) targets.clear()
        targets.set(id, endpoint)
      }
      return endpoint
    },
  }
}
