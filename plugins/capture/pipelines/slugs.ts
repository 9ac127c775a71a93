// Caches the slugs of an organization's pipelines by ID until a pipeline changes. Code that lists many pipelines then needs no
// reads.
import { CacheInvalidation, type Deps } from "#core"
import { pipelineTopic } from "#core/engine"
import { EventPipelines } from "./pipelines.ts"

const maxOrganizations = 1_000

export class PipelineSlugs {
  static readonly inject = { pipelines: EventPipelines, invalidation: CacheInvalidation }
  readonly #pipelines: EventPipelines
  readonly #known = new Map<string, Promise<ReadonlyMap<string, string>>>()

  constructor({ pipelines, invalidation }: Deps<typeof PipelineSlugs.inject>) {
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
