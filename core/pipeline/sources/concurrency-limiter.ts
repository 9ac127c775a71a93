// Room for events under way, and whose it is: bounded as a whole, for one organization and for one pipeline, so that the
// flood of one leaves the others their share. The last quarter is for organizations that hold less than an even share.
import type { StoredPipeline } from "../source.ts"

export interface RoomLimits {
  /** Events under way at once. */
  readonly all: number
  readonly organization: number
  readonly pipeline: number
}

export class Room {
  readonly #limits: RoomLimits
  readonly #organizations = new Map<string, number>()
  readonly #pipelines = new Map<string, number>()
  #all = 0

  constructor(limits: RoomLimits) {
    this.#limits = limits
  }

  /** Events under way. */
  get taken(): number {
    return this.#all
  }

  /** Whether there is a place for an event of the pipeline now. */
  hasFor({ id, organization }: StoredPipeline): boolean {
    const { all, organization: perOrganization, pipeline: perPipeline } = this.#limits
    const ofOrganization = this.#organizations.get(organization.id) ?? 0
    const ofPipeline = this.#pipelines.get(id) ?? 0
    if (this.#all >= all || ofOrganization >= perOrganization || ofPipeline >= perPipeline) return false
    // Even among those who are here and one more, who may come.
    const share = all / (this.#organizations.size + 1)
    return this.#all < (all * 3) / 4 || ofOrganization < share
  }

  /** Takes a place, to be given back by `leave`; false when there is none. */
  enter(pipeline: StoredPipeline): boolean {
    if (!this.hasFor(pipeline)) return false
    const { id, organization } = pipeline
    this.#all++
    this.#organizations.set(organization.id, (this.#organizations.get(organization.id) ?? 0) + 1)
    this.#pipelines.set(id, (this.#pipelines.get(id) ?? 0) + 1)
    return true
  }

  leave({ id, organization }: StoredPipeline): void {
    this.#all--
    lessOne(this.#organizations, organization.id)
    lessOne(this.#pipelines, id)
  }
}

function lessOne(counts: Map<string, number>, key: string): void {
  const count = counts.get(key) ?? 0
  if (count > 1) counts.set(key, count - 1)
  else counts.delete(key)
}
