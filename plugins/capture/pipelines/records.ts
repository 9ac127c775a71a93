// Looks up stored pipelines by slug or UUID, by page, and as pages of a list.
import { AppError, isUuid, type Pager, type Store } from "#core"
import type { Page } from "#core/engine"
import { type PipelineRecord, Pipelines } from "./collections.ts"

export interface ListFilters {
  readonly purpose?: PipelineRecord["purpose"] | undefined
  readonly state?: PipelineRecord["state"] | undefined
  readonly source_kind?: PipelineRecord["source_kind"] | undefined
  readonly limit: number
  readonly cursor: string
}

export class PipelineRecords {
  readonly #store: Store
  readonly #pager: Pager

  constructor({ store, pager }: { readonly store: Store; readonly pager: Pager }) {
    this.#store = store
    this.#pager = pager
  }

  /** Finds a pipeline by slug or UUID. Throws `not_found`. */
  async get(organization: string, reference: string): Promise<PipelineRecord> {
    const found = await this.find(organization, reference)
    if (!found) throw new AppError("not_found", `The event pipeline "${reference}" does not exist.`, { reason: "event_pipeline_not_found" })
    return found
  }

  async find(organization: string, reference: string): Promise<PipelineRecord | undefined> {
    const pipelines = this.#store.open(Pipelines, organization)
    return (isUuid(reference) ? await pipelines.get(reference) : undefined) ?? pipelines.first({ slug: reference })
  }

  /** Returns the newest active pipeline of a page with this purpose that passes `fit`. */
  async newestOf(
    organization: string,
    page: string,
    purpose: PipelineRecord["purpose"],
    fit: (record: PipelineRecord) => boolean = () => true,
  ): Promise<PipelineRecord | undefined> {
    const filter = { owner_artifact_id: page, purpose, state: "active" }
    const found = await this.#store.open(Pipelines, organization).find(filter, { sort: { id: -1 }, limit: 100 })
    return found.find(fit)
  }

  /** Returns the slugs of all pipelines by ID. */
  async slugs(organization: string): Promise<ReadonlyMap<string, string>> {
    const slugs = new Map<string, string>()
    for await (const { id, slug } of this.#store.open(Pipelines, organization).stream({})) slugs.set(id, slug)
    return slugs
  }

  list(organization: string, { purpose, state, source_kind, limit, cursor }: ListFilters): Promise<Page<PipelineRecord>> {
    const filter = { ...(purpose && { purpose }), ...(state && { state }), ...(source_kind && { source_kind }) }
    const cursorScope = `event_pipelines.list ${JSON.stringify(filter)}`
    return this.#pager.page({
      collection: this.#store.open(Pipelines, organization),
      organization,
      cursorScope,
      filter,
      sort: { id: -1 },
      request: { limit, cursor },
    })
  }
}
