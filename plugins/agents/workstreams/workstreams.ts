// Finds and changes workstreams and their parts, and announces changes. Every change of a part also updates its workstream, so a
// commit conflicts with a concurrent archive or completion.
import {
  AppError,
  type Caller,
  Clock,
  callerKind,
  changesOf,
  type Deps,
  type FieldsOf,
  Ids,
  isPerson,
  isUuid,
  type Json,
  Live,
  type StagedCollection,
  Store,
  slugTaken,
  stageRevision,
  timestamp,
  type UnitOfWork,
} from "#core"
import { workstreamsChannel } from "./channel.ts"
import {
  EventCollection,
  PartCollection,
  type PartKind,
  type PartOf,
  type StoredEvent,
  type StoredPart,
  type StoredWorkstream,
  WorkstreamCollection,
} from "./collections.ts"

export type Actor = Pick<StoredEvent, "actor_id" | "actor_type">

/** The description of a change, for the event and for subscribers. */
export interface News {
  readonly actor: Actor
  /** Name of the live message. */
  readonly event: string
  /** Description for users. */
  readonly body: string
  readonly data?: { readonly [field: string]: Json }
}

/** Limits of parts per kind. */
export const maxParts: Readonly<Record<PartKind, number>> = { phase: 100, assignment: 500, decision: 500, resource: 500 }

export class Workstreams {
  static readonly inject = { store: Store, clock: Clock, ids: Ids, live: Live }
  readonly #deps: Deps<typeof Workstreams.inject>

  constructor(deps: Deps<typeof Workstreams.inject>) {
    this.#deps = deps
  }

  /** Finds by slug or UUID. Throws `not_found`. */
  async require(organization: string, slugOrId: string): Promise<StoredWorkstream> {
    const workstreams = this.#deps.store.open(WorkstreamCollection, organization)
    const workstream = isUuid(slugOrId) ? await workstreams.get(slugOrId) : await workstreams.first({ slug: slugOrId })
    if (workstream) return workstream
    throw new AppError("not_found", `The organization has no workstream "${slugOrId}"; GET /v1/workstreams lists them.`, {
      reason: "workstream_not_found",
    })
  }

  /** As `require`, for a change. Throws `failed_precondition` if archived. */
  async open(organization: string, slugOrId: string): Promise<StoredWorkstream> {
    const workstream = await this.require(organization, slugOrId)
    if (workstream.status !== "archived") return workstream
    throw new AppError("failed_precondition", `The workstream "${workstream.slug}" is archived, and is changed no more.`, {
      reason: "workstream_archived",
    })
  }

  /** Finds by slug or UUID. Throws `not_found`. */
  async part<K extends PartKind>(organization: string, { id, slug }: StoredWorkstream, kind: K, slugOrId: string): Promise<PartOf<K>> {
    const parts = this.#deps.store.open(PartCollection, organization)
    const part = await parts.first({ workstream_id: id, kind, ...(isUuid(slugOrId) ? { id: slugOrId } : { slug: slugOrId }) })
    if (part) return part as PartOf<K>
    throw new AppError("not_found", `The workstream "${slug}" has no ${kind} "${slugOrId}".`, { reason: "workstream_part_not_found" })
  }

  /** Throws `already_exists` for a taken slug, and `failed_precondition` at the limit. */
  async requireRoom(organization: string, { id, slug }: StoredWorkstream, kind: PartKind, partSlug: string): Promise<void> {
    const parts = this.#deps.store.open(PartCollection, organization)
    const max = maxParts[kind]
    const [duplicate, count] = await Promise.all([
      parts.first({ workstream_id: id, kind, slug: partSlug }),
      parts.count({ workstream_id: id, kind }, { limit: max }),
    ])
    if (duplicate) throw slugTaken(`The workstream has the ${kind} "${partSlug}" already; take another slug.`)
    if (count < max) return
    throw new AppError("failed_precondition", `The workstream "${slug}" has ${max} of its kind ${kind}, the most it may.`, {
      reason: "workstream_full",
      max,
    })
  }

  /** Stages a new part. */
  add(work: UnitOfWork, organization: string, workstream: StoredWorkstream, part: StoredPart, news: News): void {
    work.in(PartCollection, organization).insert(part)
    this.touch(work, organization, workstream, news)
  }

  /** Stages a change of a part as read. A concurrent change makes the commit `aborted`. */
  change<P extends StoredPart>(
    work: UnitOfWork,
    organization: string,
    workstream: StoredWorkstream,
    part: P,
    change: Partial<P>,
    news: News,
  ): P {
    const parts = work.in(PartCollection, organization) as StagedCollection<StoredPart> as StagedCollection<P>
    const changed = stageRevision(parts, part, change, this.#deps.clock.now())
    this.touch(work, organization, workstream, news)
    return changed
  }

  /** Stages the removal of a part as read. */
  remove(work: UnitOfWork, organization: string, workstream: StoredWorkstream, { id, revision }: StoredPart, news: News): void {
    work.in(PartCollection, organization).remove(id, { where: { revision } })
    this.touch(work, organization, workstream, news)
  }

  /** Stages a change of the workstream's own fields as read. Returns the workstream with the event. */
  update(
    work: UnitOfWork,
    organization: string,
    workstream: StoredWorkstream,
    change: Partial<FieldsOf<StoredWorkstream>>,
    news: News,
  ): { workstream: StoredWorkstream; event: StoredEvent } {
    const changed = { ...change, revision: workstream.revision + 1, updated_at: this.now() }
    // Also compares the time of the last change: a part added meanwhile may contradict this change.
    const where = { revision: workstream.revision, updated_at: workstream.updated_at }
    work.in(WorkstreamCollection, organization).update(workstream.id, { $set: changesOf(changed) }, { where })
    return { workstream: { ...workstream, ...changed }, event: this.tell(work, organization, workstream, news) }
  }

  /** Stages a change within the workstream. If its status differs, the commit is `aborted`. */
  touch(work: UnitOfWork, organization: string, workstream: StoredWorkstream, news: News): StoredEvent {
    const { id, status } = workstream
    work.in(WorkstreamCollection, organization).update(id, { $set: { updated_at: this.now() } }, { where: { status } })
    return this.tell(work, organization, workstream, news)
  }

  /** Stages an event and a live message. */
  tell(work: UnitOfWork, organization: string, { id, slug }: StoredWorkstream, { actor, event, body, data = {} }: News): StoredEvent {
    const stored: StoredEvent = { id: this.#deps.ids.uuid(), workstream_id: id, ...actor, body, created_at: this.now() }
    work.in(EventCollection, organization).insert(stored)
    const message = { workstream_id: id, workstream_slug: slug, event_id: stored.id, body, ...data }
    this.#deps.live.stage(work, organization, { channel: workstreamsChannel.name.replace("*", slug), event, data: message })
    return stored
  }

  now(): string {
    return timestamp(this.#deps.clock.now())
  }

  /** Returns the common fields of a new part. */
  newPart({ id }: Pick<StoredWorkstream, "id">, slug: string) {
    const at = this.now()
    return { id: this.#deps.ids.uuid(), workstream_id: id, slug, revision: 1, created_at: at, updated_at: at }
  }
}

/** Returns the actor of a caller. An agent acts as itself, even with the key of a user. */
export function actorOf(caller: Caller): Actor {
  const { user, credential } = caller
  if (callerKind(caller) === "agent") return { actor_id: credential.id, actor_type: "agent" }
  return user ? { actor_id: user.id, actor_type: "user" } : { actor_id: credential.id, actor_type: "credential" }
}

/** Returns true if the caller may make decisions reserved for persons. */
export function mayDecide(caller: Caller, { autonomy_mode }: StoredWorkstream): boolean {
  return isPerson(caller) || autonomy_mode === "autonomous"
}

/** Agents and services cannot permit themselves to decide in place of persons. */
export function requirePerson(caller: Caller, mode: StoredWorkstream["autonomy_mode"] | undefined): void {
  if (mode !== "autonomous" || isPerson(caller)) return
  const message = "only a person sets autonomous: sign in, or use a key of a user by REST or command"
  throw new AppError("permission_denied", `autonomy_mode: ${message}.`, {
    reason: "for_persons",
    fields: [{ path: "autonomy_mode", message }],
  })
}

export function followerOf({ user, credential }: Caller): string {
  return user?.id ?? credential.id
}
