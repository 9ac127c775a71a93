// Selects the target of a page's forms: the newest active record-capture pipeline of the page that accepts events from browsers.
import { allKeys, type CacheInvalidation } from "#core"
import { pipelineTopic } from "#core/engine"
import { problemOfName } from "../../data/datasets/index.ts"
import type { PageForms } from "../../pages/pages/index.ts"
import type { PipelineRecord } from "./collections.ts"
import type { EventPipelines } from "./pipelines.ts"

const remembered = 5_000

export function pageForms({ pipelines, invalidation }: { pipelines: EventPipelines; invalidation: CacheInvalidation }): PageForms {
  const known = new Map<string, { endpoint: string | undefined }>()
  let generation = 0
  invalidation.onChange(pipelineTopic, (key) => {
    generation++
    // A new pipeline may belong to any page.
    if (key === allKeys || known.size > 0) known.clear()
  })
  const target: PageForms["target"] = async (organization, page) => {
    const key = `${organization.id}/${page.id}`
    const seen = known.get(key)
    if (seen) return seen.endpoint
    const before = generation
    const found = await pipelines.newestOf(organization.id, page.id, "record_capture", takesForms)
    const endpoint = found?.endpoint_id ?? undefined
    if (before === generation) {
      if (known.size >= remembered) known.clear()
      known.set(key, { endpoint })
    }
    return endpoint
  }
  return { target, problemOfField: problemOfName }
}

/** Forms cannot carry a signature. */
function takesForms({ document, endpoint_id }: PipelineRecord): boolean {
  if (endpoint_id === null) return false
  if (document.auth_mode === "authenticated_viewer") return true
  return document.auth_mode === "public_artifact" || document.auth_mode === "none"
}
