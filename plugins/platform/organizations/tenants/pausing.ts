// Archived and suspended organizations. Every node loads the stored state into `Pauses` before the response to a change.
import { AppError, allKeys, CacheInvalidation, Clock, type Deps, Store, timestamp, token, type UnitOfWork } from "#core"
import { type Pause, Pauses } from "#core/engine"
import { type Organization, OrganizationsCollection } from "../collections.ts"
import { Organizations, organizationsTopic } from "../directory.ts"

type Change = Partial<Pick<Organization, "archived" | "suspended">>

/** Stops and resumes the work of organizations. Each change is effective on every node before the call's response. */
export interface Pausing {
  /** Stages the archiving. Throws `failed_precondition` for the service's own organization. */
  archive(work: UnitOfWork, organization: Organization, by: string | null): Promise<Organization>
  restore(work: UnitOfWork, organization: Organization): Organization
  /** Stages the suspension. Throws `failed_precondition` for the service's own organization. */
  suspend(work: UnitOfWork, organization: Organization, note: string): Promise<Organization>
  resume(work: UnitOfWork, organization: Organization): Organization
  /** Loads every pause. */
  start(): Promise<void>
}

export const Pausing = token<Pausing>("Pausing")

const pausesTopic = "organization_pauses"

export const pausingNeeds = { store: Store, invalidation: CacheInvalidation, clock: Clock, pauses: Pauses, organizations: Organizations }

export function createPausing({ store, invalidation, clock, pauses, organizations }: Deps<typeof pausingNeeds>): Pausing {
  /** The loaded states by organization. A repeated load of the same state has no effect. */
  const loadedStates = new Map<string, string>()
  invalidation.onChange(pausesTopic, async (key) => (key === allKeys ? await loadAll() : await load(key)))

  async function load(id: string, organization?: Organization): Promise<void> {
    const organizationNow = organization ?? (await store.open(OrganizationsCollection).get(id))
    const state = JSON.stringify([organizationNow?.archived ?? null, organizationNow?.suspended ?? null])
    if (loadedStates.get(id) === state) return
    const pause = organizationNow && pauseOf(organizationNow)
    if (pause) loadedStates.set(id, state)
    else loadedStates.delete(id)
    await pauses.set(id, pause)
  }

  async function loadAll(): Promise<void> {
    const before = [...loadedStates.keys()]
    for (const kind of ["archived.at", "suspended.at"])
      for await (const organization of store.open(OrganizationsCollection).stream({ [kind]: { $exists: true } }))
        await load(organization.id, organization)
    for (const id of before) await load(id)
  }

  function change(work: UnitOfWork, organization: Organization, fields: Change): Organization {
    work.in(OrganizationsCollection).update(organization.id, { $set: fields })
    invalidation.announce(work, organizationsTopic, organization.id, { settled: true })
    invalidation.announce(work, pausesTopic, organization.id, { settled: true })
    return { ...organization, ...fields }
  }

  async function refuseOwn({ id, slug }: Organization): Promise<void> {
    if ((await organizations.first()).id !== id) return
    const message = `"${slug}" is the service's own organization, which is never archived or suspended.`
    throw new AppError("failed_precondition", message, { reason: "service_organization" })
  }

  return {
    async archive(work, organization, by) {
      await refuseOwn(organization)
      return organization.archived ? organization : change(work, organization, { archived: { at: timestamp(clock.now()), by } })
    },
    restore: (work, organization) => (organization.archived ? change(work, organization, { archived: null }) : organization),
    async suspend(work, organization, note) {
      await refuseOwn(organization)
      return change(work, organization, { suspended: { at: organization.suspended?.at ?? timestamp(clock.now()), note } })
    },
    resume: (work, organization) => (organization.suspended ? change(work, organization, { suspended: null }) : organization),
    start: loadAll,
  }
}

function pauseOf({ slug, archived, suspended }: Organization): Pause | undefined {
  // The admins of a suspended organization may still read, for example to export their data.
  if (suspended) return { error: suspendedError(slug, suspended), readers: "admin" }
  return archived ? { error: archivedError(slug, archived), readers: "guest" } : undefined
}

/** The error of calls to a suspended organization. */
export function suspendedError(slug: string, { at, note }: NonNullable<Organization["suspended"]>): AppError {
  const reason = note === "" ? "" : ` (${note})`
  const message = `The organization "${slug}" is suspended since ${at}${reason}. Ask the operator of the service.`
  return new AppError("permission_denied", message, { reason: "organization_suspended", since: at, retryable: false })
}

function archivedError(slug: string, { at }: NonNullable<Organization["archived"]>): AppError {
  const message = `The organization "${slug}" is archived since ${at} and read-only. An owner restores it with POST /v1/organization/restore.`
  return new AppError("permission_denied", message, { reason: "organization_archived", since: at, retryable: false })
}
