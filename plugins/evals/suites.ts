// Suites of an organization: found by a slug that they have or had, renamed, and scheduled for the night.
import { AppError, type Clock, derivedUuid, isUuid, type Scheduler, type Store, stageRevision, token, type UnitOfWork } from "#core"
import type { Organizations } from "../organizations/index.ts"
import { CaseCollection, type StoredCase, type StoredSuite, SuiteCollection, SuiteSlugCollection } from "./collections.ts"
import { nightlyRef } from "./runs/collections.ts"
import type { EvalSettings } from "./settings.ts"

export type SuiteChange = Partial<
  Omit<StoredSuite, "id" | "organization_id" | "revision" | "created_at" | "updated_at" | "created_by_user_id">
>

interface SuitesDeps {
  readonly store: Store
  readonly clock: Clock
  readonly scheduler: Scheduler
  readonly organizations: Organizations
  readonly settings: EvalSettings
}

export const maxCases = 500

export const SuitesToken = token<Suites>("Suites")

export class Suites {
  readonly #deps: SuitesDeps

  constructor(deps: SuitesDeps) {
    this.#deps = deps
  }

  /** By UUID, slug or former slug. */
  async find(organization: string, slugOrId: string): Promise<StoredSuite | undefined> {
    const { store } = this.#deps
    const suites = store.open(SuiteCollection, organization)
    if (isUuid(slugOrId)) return suites.get(slugOrId)
    const named = await store.open(SuiteSlugCollection, organization).get(slugId(organization, slugOrId))
    return named && suites.get(named.suite_id)
  }

  /** As `find`; throws `not_found`. */
  async require(organization: string, slugOrId: string): Promise<StoredSuite> {
    const found = await this.find(organization, slugOrId)
    if (found) return found
    throw new AppError("not_found", `The organization has no eval suite "${slugOrId}"; GET /v1/evals/suites lists them.`, {
      reason: "suite_not_found",
    })
  }

  /** All of them, by slug. */
  cases(organization: string, suite: StoredSuite): Promise<StoredCase[]> {
    return this.#deps.store.open(CaseCollection, organization).find({ suite_id: suite.id }, { sort: { slug: 1 }, limit: maxCases })
  }

  /** Stages a suite; a slug that another one has or had fails the commit as `already_exists`. */
  async create(work: UnitOfWork, organization: string, suite: StoredSuite): Promise<void> {
    work.in(SuiteCollection, organization).insert(suite)
    this.#takeSlug(work, organization, suite)
    if (suite.cron_enabled) await this.schedule(work, organization, suite)
  }

  /** Stages a change made for the suite as read; one made meanwhile has the commit `aborted`. Throws `already_exists` for a taken slug. */
  async update(work: UnitOfWork, organization: string, suite: StoredSuite, change: SuiteChange): Promise<StoredSuite> {
    const updated = stageRevision(work.in(SuiteCollection, organization), suite, change, this.#deps.clock.now())
    if (updated.slug !== suite.slug) {
      const holder = await this.find(organization, updated.slug)
      if (holder && holder.id !== suite.id) throw slugTaken(updated.slug, "suite_slug")
      if (!holder) this.#takeSlug(work, organization, updated)
    }
    if (updated.cron_enabled !== suite.cron_enabled) {
      if (updated.cron_enabled) await this.schedule(work, organization, updated)
      else this.#deps.scheduler.remove(work, nightlyRef, suite.id)
    }
    return updated
  }

  /** Stages the end of a suite, its slugs and its cases; its runs stay until they expire. */
  async remove(work: UnitOfWork, organization: string, suite: StoredSuite): Promise<void> {
    const { store, scheduler } = this.#deps
    work.in(SuiteCollection, organization).remove(suite.id, { where: { revision: suite.revision } })
    for await (const { id } of store.open(SuiteSlugCollection, organization).stream({ suite_id: suite.id }))
      work.in(SuiteSlugCollection, organization).remove(id, { optional: true })
    for (const { id } of await this.cases(organization, suite)) work.in(CaseCollection, organization).remove(id, { optional: true })
    if (suite.cron_enabled) scheduler.remove(work, nightlyRef, suite.id)
  }

  /** Stages the nightly run in the organization's time zone, or in the one given, which it is about to have. */
  async schedule(work: UnitOfWork, organization: string, { id }: StoredSuite, given?: string): Promise<void> {
    const { scheduler, organizations, settings } = this.#deps
    const timezone = given ?? (await organizations.byId(organization))?.time_zone ?? "UTC"
    scheduler.set(work, { id, job: nightlyRef, payload: { suite_id: id }, organization, cron: settings.nightly_cron, timezone })
  }

  /** Stages new times of all nightly runs, for an organization whose time zone changes. */
  async reschedule(work: UnitOfWork, organization: string, timezone: string): Promise<void> {
    const nightly = this.#deps.store.open(SuiteCollection, organization).stream({ cron_enabled: true })
    for await (const suite of nightly) await this.schedule(work, organization, suite, timezone)
  }

  #takeSlug(work: UnitOfWork, organization: string, { id: suite_id, slug }: StoredSuite): void {
    work.in(SuiteSlugCollection, organization).insert({ id: slugId(organization, slug), slug, suite_id })
  }
}

export function slugTaken(slug: string, path: string): AppError {
  return new AppError("already_exists", `An eval suite has or had the slug "${slug}"; take another one.`, {
    reason: "slug_taken",
    fields: [{ path, message: "taken" }],
  })
}

function slugId(organization: string, slug: string): string {
  return derivedUuid("eval suite slug", organization, slug)
}
