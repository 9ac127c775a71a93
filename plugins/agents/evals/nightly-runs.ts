// The nightly runs of suites, in the time zone of their organization.
import { type Deps, Scheduler, type UnitOfWork } from "#core"
import { Organizations } from "../../platform/organizations/index.ts"
import { nightlyRef } from "./runs/collections.ts"
import type { EvalSettings } from "./settings.ts"

interface NightlyDeps extends Deps<typeof NightlyRuns.inject> {
  readonly settings: EvalSettings
}

export class NightlyRuns {
  static readonly inject = { scheduler: Scheduler, organizations: Organizations }
  readonly #deps: NightlyDeps

  constructor(deps: NightlyDeps) {
    this.#deps = deps
  }

  /** Stages the nightly run. `given` is the next time zone of the organization. */
  async schedule(work: UnitOfWork, organization: string, { id }: { readonly id: string }, given?: string): Promise<void> {
    const { scheduler, organizations, settings } = this.#deps
    const timezone = given ?? (await organizations.byId(organization))?.time_zone ?? "UTC"
    scheduler.set(work, { id, job: nightlyRef, payload: { suite_id: id }, organization, cron: settings.nightly_cron, timezone })
  }
}
