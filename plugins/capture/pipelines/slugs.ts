// Slugs of an organization's pipelines by their ids, as remembered until a pipeline changes: what goes through all of them, or
// names many, reads none.
import { type CacheInvalidation, token } from "#core"
import { pipelineTopic } from "#core/engine"
import type { EventPipelines } from "./pipelines.ts"

const maxOrganizations = 1_000

export class PipelineSlugs {
  readonly #pipelines: EventPipelines
  readonly #known = new Map<string, Promise<ReadonlyMap<string, string>>>()

  constructor({ pipelines, invalidation }: { readonly pipelines: EventPipelines; readonly invalidation: CacheInvalidation }) {
    this.#pipelines = pipelines
    invalidation.onChange(pipelineTopic, () => this.#known.clear())
  }

  of(organization: string): Promise<ReadonlyMap<string, string>> {
    const known = this.#known.get(organization)
    if (known) return known
    const read = this.#pipelines.slugs(organization)
    if (this.#known.size >= maxOrganizations) this.#known.clear()
    this.#known.set(organization, read)
    read.catch(() => this.#known.delete(organization))
    return read
  }
}

export const PipelineSlugsToken = token<PipelineSlugs>("EventPipelineSlugs")
