// Page analytics for operations: queries over the caller's own organization, the status of its copy, and rebuilds.
import { AppError, type Caller, type Clock, roleAtLeast, type Store, timestamp, token, type UnitsOfWork } from "#core"
import type { EventPipelines } from "../../capture/pipelines/index.ts"
import type { Datasets } from "../../data/datasets/index.ts"
import type { Organizations } from "../../platform/organizations/index.ts"
import type { Pages } from "../pages/index.ts"
import { CopiedOrganizations, CopiesCollection, type Copy, type Segment, type SnapshotPlace } from "./collections.ts"
import { schemaVersion } from "./event-columns.ts"
import { notRepeatable } from "./query/functions.ts"
import type { QueryTable, QueryTask } from "./query/protocol.ts"
import type { QueryPool } from "./query/query-pool.ts"
import type { QueryOutcome } from "./query/query-process.ts"
import { CopyStore, type CopyStoreDeps, liveSegments } from "./sealing/copy-store.ts"
import { eventsDataset, passedAt } from "./sealing/passes.ts"
import { type SegmentFiles, SegmentMissing } from "./segments/segment-files.ts"
import type { AnalyticsSettings } from "./settings.ts"
import { Snapshots, snapshotGone } from "./snapshots.ts"

export interface AnalyticsResult extends QueryTable {
  readonly enabled: boolean
  readonly as_of: string | null
}

export interface Asking {
  readonly query: string
  /** Id of a snapshot from an earlier answer. */
  readonly snapshot?: string | undefined
}

/** An answer with its snapshot, for a repeated query. */
export interface RepeatableResult extends AnalyticsResult {
  readonly snapshot: SnapshotPlace & { readonly id: string }
}

export interface AnalyticsStatus {
  readonly enabled: boolean
  readonly as_of: string | null
  readonly rows: number
  readonly segments: number
  readonly bytes: number
  readonly rebuilding: boolean
}

export interface PageAnalytics {
  /**
   * Throws `invalid_argument` with the engine's own message, `deadline_exceeded`, `resource_exhausted`, `permission_denied`,
   * `unavailable`, or `failed_precondition` if the snapshot's rows are no longer available.
   */
  query(caller: Caller, asking: Asking, signal: AbortSignal): Promise<RepeatableResult>
  /**
   * Queries on behalf of the service itself, without a caller's permissions. The service is responsible for the use of the rows.
   * Returns up to 50,000 rows.
   */
  read(organization: string, sql: string, signal: AbortSignal): Promise<AnalyticsResult>
  status(organization: string): Promise<AnalyticsStatus>
  /** Starts a rebuild. It runs beside the live copy, and the live copy serves queries until the new copy has caught up. */
  rebuild(organization: string): Promise<void>
}

export const PageAnalytics = token<PageAnalytics>("PageAnalytics")

interface AnalyticsDeps extends CopyStoreDeps {
  readonly store: Store
  readonly works: UnitsOfWork
  readonly clock: Clock
  readonly datasets: Datasets
  readonly organizations: Organizations
  readonly pages: Pick<Pages, "published">
  readonly pipelines: Pick<EventPipelines, "list">
  readonly files: SegmentFiles
  readonly pool: QueryPool
  readonly settings: AnalyticsSettings
}

type PoolQuery = Pick<QueryTask, "sql" | "limits" | "clock" | "repeatable">

/** Limits of the service's own queries. */
const ownLimits = { rows: 50_000, bytes: 16_777_216 }

interface Present {
  /** Undefined before the first copy. */
  readonly copy?: Copy
  readonly segments: readonly Segment[]
  readonly as_of: string | null
}

export function createPageAnalytics(deps: AnalyticsDeps): PageAnalytics {
  const { store, works, clock, datasets, organizations, pages, pipelines, files, pool, settings } = deps
  const snapshots = new Snapshots({ store, works, clock, keepDays: settings.keep_snapshots_days })

  /** Checked at each call: the key's owner may have left the organization since. */
  async function assertMember({ organization, user }: Caller): Promise<void> {
    // A service principal belongs to this organization or to one that manages it. Its permissions were checked earlier.
    if (user === undefined) return
    const managedBy = (await organizations.byId(organization.id))?.managed_by
    const own = await organizations.membership(organization.id, user.id)
    const member = own ?? (managedBy ? await organizations.membership(managedBy.id, user.id) : undefined)
    if (member && roleAtLeast(member.role, "member")) return
    throw new AppError(
      "permission_denied",
      `The key's owner is not a member of "${organization.slug}" with access to analytics; use a member's key.`,
      {
        reason: "not_a_member",
      },
    )
  }

  /** Returns true if a page collects events: it is published, and its page_events pipeline is active. */
  async function enabled(organization: string): Promise<boolean> {
    const filters = { purpose: "page_events", state: "active", limit: 100 } as const
    let cursor = ""
    do {
      const { items, next_cursor } = await pipelines.list(organization, { ...filters, cursor })
      for (const { owner_artifact_id } of items) if (await pages.published(organization, owner_artifact_id ?? "")) return true
      cursor = next_cursor
    } while (cursor !== "")
    return false
  }

  async function liveCopy(organization: string): Promise<Copy | undefined> {
    const live = await store.open(CopiesCollection, organization).first({ state: "live" })
    if (!live && (await datasets.get(organization, eventsDataset))) {
      // The organization's events are older than this plugin.
      await works.run((work) =>
        work.in(CopiedOrganizations).insert({ id: organization, since: timestamp(clock.now()) }, { ifPresent: "keep" }),
      )
    }
    return live
  }

  /** Returns the live copy, its segments and its time, all of one moment. Reads again after a concurrent merge or rebuild. */
  async function present(organization: string): Promise<Present> {
    for (let tries = 0; tries < 8; tries++) {
      // Read before the copy: a sealing pass first marks copies that are behind, and then records its completion.
      const passed = await passedAt(store)
      const copy = await liveCopy(organization)
      if (!copy) return { segments: [], as_of: null }
      const segments = await liveSegments(store, organization, copy.id)
      const now = await store.open(CopiesCollection, organization).get(copy.id)
      if (now?.revision !== copy.revision) continue
      const sincePass = copy.caught_up && passed !== null && (copy.as_of === null || passed > copy.as_of)
      return { copy, segments, as_of: sincePass ? passed : copy.as_of }
    }
    throw new AppError("unavailable", "The copy of the events keeps changing; retry.", { reason: "copy_unavailable" }, { retryAfterS: 1 })
  }

  async function run(organization: string, segments: readonly Segment[], request: PoolQuery, signal: AbortSignal): Promise<QueryTable> {
    const task = {
      ...request,
      files: await files.local(organization, segments),
      mixed: segments.some(({ schema }) => schema !== schemaVersion),
    }
    const outcome = await pool.run(organization, task, signal)
    if (outcome.kind === "table") return outcome.table
    if (!task.files.some((file) => outcome.message.includes(file))) throw refusal(outcome.kind, outcome.message)
    // The cause is an unreadable file, not the query. The engine's message contains local paths, so it stays internal.
    await files.require(organization, segments)
    throw new AppError(
      "unavailable",
      "A file of the copy of the events could not be read; retry, and rebuild the copy if this persists.",
      { reason: "segment_unreadable" },
      { cause: new Error(outcome.message), retryAfterS: 10 },
    )
  }

  /**
   * Reports a missing file to the sealing node. Only that node can distinguish a deleted file from one invisible to this node.
   */
  async function noteMissed(organization: string, copy: Copy, segment: Segment): Promise<void> {
    if (copy.missed) return
    await works.run((work) => work.in(CopiesCollection, organization).update(copy.id, { $set: { missed: segment.id } }, { optional: true }))
  }

  async function read(organization: string, input: Pick<PoolQuery, "sql" | "limits">, signal: AbortSignal) {
    const [on, { copy, segments, as_of }] = await Promise.all([enabled(organization), present(organization)])
    if (copy?.lost) throw copyLost()
    const request = { ...input, clock: as_of, repeatable: false }
    try {
      return { result: { ...(await run(organization, segments, request, signal)), enabled: on, as_of }, copy, segments }
    } catch (error) {
      if (copy && error instanceof SegmentMissing) await noteMissed(organization, copy, error.segment)
      throw error
    }
  }

  /** Queries the rows of an earlier answer. */
  async function again(
    organization: string,
    input: Pick<PoolQuery, "sql" | "limits">,
    id: string,
    signal: AbortSignal,
  ): Promise<RepeatableResult> {
    const [on, { segments, ...snapshot }] = await Promise.all([enabled(organization), snapshots.find(organization, id)])
    const { as_of } = snapshot
    try {
      return { ...(await run(organization, segments, { ...input, clock: as_of, repeatable: true }, signal)), enabled: on, as_of, snapshot }
    } catch (error) {
      throw error instanceof SegmentMissing ? snapshotGone(id, "lost") : error
    }
  }

  return {
    async query(caller, { query: sql, snapshot }, signal) {
      await assertMember(caller)
      const organization = caller.organization.id
      const limits = { rows: settings.max_rows, bytes: settings.max_result_bytes }
      if (snapshot !== undefined) return again(organization, { sql, limits }, snapshot, signal)
      const { result, copy, segments } = await read(organization, { sql, limits }, signal)
      const place = { copy_id: copy?.id ?? "", revision: copy?.revision ?? 0, as_of: result.as_of }
      return { ...result, snapshot: { ...place, id: await snapshots.hold(organization, place, segments) } }
    },
    read: async (organization, sql, signal) => (await read(organization, { sql, limits: ownLimits }, signal)).result,
    async status(organization) {
      const { segments, as_of } = await present(organization)
      const { building } = await new CopyStore(deps, organization).copies()
      return {
        enabled: await enabled(organization),
        as_of,
        rows: segments.reduce((sum, { rows }) => sum + rows, 0),
        segments: segments.length,
        bytes: segments.reduce((sum, { bytes }) => sum + bytes, 0),
        rebuilding: building !== undefined,
      }
    },
    async rebuild(organization) {
      const live = await liveCopy(organization)
      const copies = new CopyStore(deps, organization)
      if (live && !(await copies.copies()).building) await copies.rebuild(live)
    },
  }
}

function copyLost(): AppError {
  const message = "The copy of the events lost files, and is being rebuilt from the dataset; retry later."
  return new AppError("unavailable", message, { reason: "copy_unavailable" }, { retryAfterS: 10 })
}

function refusal(kind: Exclude<QueryOutcome["kind"], "table">, message: string): AppError {
  if (kind === "deadline") return new AppError("deadline_exceeded", message, { reason: "query_timeout" })
  if (kind === "unstarted") {
    const text = "No process for the query could be started; retry."
    return new AppError("unavailable", text, { reason: "query_process_unavailable" }, { cause: new Error(message), retryAfterS: 5 })
  }
  if (message.startsWith(notRepeatable))
    return new AppError("invalid_argument", message, { reason: "not_repeatable", fields: [{ path: "query", message }] })
  const reason = ({ refused: "query_rejected", memory: "query_memory", crashed: "query_crashed" } as const)[kind]
  return new AppError("invalid_argument", message, { reason, fields: [{ path: "query", message }] })
}
