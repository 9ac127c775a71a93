// Limits events in flight: in total, per organization and per pipeline. A flood from one sender leaves a share for the others.
// The last quarter is for organizations below an even share.
import type { StoredPipeline } from "../source.ts"

export interface ConcurrencyLimits {
  /** Events in flight at once. */
  readonly all: number
  readonly organization: number
  readonly pipeline: number
}

export class ConcurrencyLimiter {
  readonly #limits: ConcurrencyLimits
  readonly #organizations = new Map<string, number>()
  readonly #pipelines = new Map<string, number>()
  #all = 0

  constructor(limits: ConcurrencyLimits) {
    this.#limits = limits
  }

  get inFlight(): number {
    return this.#all
  }

  get isFull(): boolean {
    return this.#all >= this.#limits.all
  }

  /** Returns true if an event of the pipeline could start now. */
  canAcquire({ id, organization }: StoredPipeline): boolean {
    const { all, organization: perOrganization, pipeline: perPipeline } = this.#limits
    const ofOrganization = this.#organizations.get(organization.id) ?? 0
    const ofPipeline = this.#pipelines.get(id) ?? 0
    if (this.#all >= all || ofOrganization >= perOrganization || ofPipeline >= perPipeline) return false
    // An even share among the current organizations and a newcomer.
    const share = all / (this.#organizations.size + 1)
    return this.#all < (all * 3) / 4 || ofOrganization < share
  }

  /** Acquires a slot for a later `release`. Returns false if no slot is free. */
  tryAcquire(pipeline: StoredPipeline): boolean {
    if (!this.canAcquire(pipeline)) return false
    const { id, organization } = pipeline
    this.#all++
    this.#organizations.set(organization.id, (this.#organizations.get(organization.id) ?? 0) + 1)
    this.#pipelines.set(id, (this.#pipelines.get(id) ?? 0) + 1)
    return true
  }

  release({ id, organization }: StoredPipeline): void {
    this.#all--
    decrement(this.#organizations, organization.id)
    decrement(this.#pipelines, id)
  }
}

function decrement(counts: Map<string, number>, key: string): void {
  const count = counts.get(key) ?? 0
  if (count > 1) counts.set(key, count - 1)
  else counts.delete(key)
}
