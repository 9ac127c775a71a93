// Ids of an organization's pipelines, which reads of the journal go through, as remembered until a pipeline changes.
import { type CacheInvalidation, token } from "#core"
import { pipelineTopic } from "#core/engine"
import type { EventPipelines } from "../event-pipelines/index.ts"

const maxOrganizations = 1_000

export class PipelineIds {
  readonly #pipelines: EventPipelines
  readonly #known = new Map<string, Promise<string[]>>()

  constructor({ pipelines, invalidation }: { readonly pipelines: EventPipelines; readonly invalidation: CacheInvalidation }) {
    this.#pipelines = pipelines
    invalidation.onChange(pipelineTopic, () => this.#known.clear())
  }

  of(organization: string): Promise<string[]> {
    const known = this.#known.get(organization)
    if (known) return known
    const read = this.#pipelines.ids(organization)
    if (this.#known.size >= maxOrganizations) this.#known.clear()
    this.#known.set(organization, read)
    read.catch(() => this.#known.delete(organization))
    return read
  }
}

export const PipelineIdsToken = token<PipelineIds>("EventPipelineIds")
