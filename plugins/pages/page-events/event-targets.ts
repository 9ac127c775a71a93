// Where a page's events go: the endpoint of its page-events pipeline while that is active. Kept in memory until the
// pipeline changes, since every visit asks.
import { allKeys, type CacheInvalidation, token } from "#core"
import { pipelineTopic } from "#core/engine"
import type { EventPipelines } from "../../capture/pipelines/index.ts"
import { pipelineIdOf } from "./pipeline.ts"

export interface EventTargets {
  /** Undefined where first-party analytics are off for the page. */
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
  /** By pipeline. */
  const known = new Map<string, string | undefined>()
  let generation = 0
  invalidation.onChange(pipelineTopic, (key) => {
    generation++
    if (key === allKeys) known.clear()
    else known.delete(key)
  })
  return {
    async endpoint(organization, pageId) {
      const id = pipelineIdOf(pageId)
      if (known.has(id)) return known.get(id)
      const before = generation
      const found = await pipelines.find(organization, id)
      const endpoint = found?.state === "active" ? (found.endpoint_id ?? undefined) : undefined
      if (before === generation) {
        if (known.size >= maxKnown) known.clear()
        known.set(id, endpoint)
      }
      return endpoint
    },
  }
}
