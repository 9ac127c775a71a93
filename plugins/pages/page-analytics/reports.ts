// Saved reports: a named query with the snapshot of its rows. Readers see the rows that the author saw.
import { z } from "zod"
import {
  AppError,
  Clock,
  defineList,
  defineOperation,
  Ids,
  isUuid,
  resultOf,
  Slug,
  SlugOrId,
  Store,
  slugOf,
  Timestamp,
  timestamp,
  Uuid,
} from "#core"
import { type Report, ReportsCollection } from "./collections.ts"
import { Answer, noteOf, Query, SnapshotId } from "./operations.ts"
import { PageAnalytics } from "./page-analytics.ts"
import { ReportLimit } from "./settings.ts"

const path = "/v1/page-analytics/reports"

const ReportWire = z
  .object({
    id: Uuid,
    slug: z.string(),
    name: z.string(),
    query: z.string(),
    snapshot: SnapshotId,
    as_of: Timestamp.nullable().describe("Every event committed before this time is in the snapshot."),
    created_at: Timestamp,
  })
  .meta({ id: "AnalyticsReport" })

const saved = { report: "page_analytics.save_report" }
const thatOne = { given: saved, input: { slug: resultOf("report.slug") } }

function toWire({ id, slug, name, query, snapshot, created_at }: Report): z.infer<typeof ReportWire> {
  return { id, slug, name, query, snapshot: snapshot.id, as_of: snapshot.as_of, created_at }
}

async function requireReport(store: Store, organization: string, reference: string): Promise<Report> {
  const reports = store.open(ReportsCollection, organization)
  const report = (isUuid(reference) ? await reports.get(reference) : undefined) ?? (await reports.first({ slug: reference }))
  if (report) return report
  throw new AppError("not_found", `The report "${reference}" does not exist.`, { reason: "report_not_found" })
}

export const saveReport = defineOperation({
  name: "page_analytics.save_report",
  summary: "Save a query with a name, and with the snapshot that its rows are of.",
  description:
    "The query is run first: with `snapshot`, of an earlier answer, or of the events as they are now. What it is of is kept as long as the report is.",
  http: { method: "POST", path },
  access: { scope: "page_analytics:write", role: "member" },
  hints: { readOnly: false, destructive: false, idempotent: false },
  input: z.strictObject({ name: z.string().trim().min(1).max(200), slug: Slug.optional(), query: Query, snapshot: SnapshotId.optional() }),
  output: ReportWire,
  errors: [
    "invalid_argument",
    "already_exists",
    "permission_denied",
    "failed_precondition",
    "resource_exhausted",
    "deadline_exceeded",
    "unavailable",
  ],
  examples: [{ input: { name: "Events by kind", query: "SELECT event, count(*) AS events FROM events GROUP BY event ORDER BY event" } }],
  inject: { analytics: PageAnalytics, store: Store, ids: Ids, clock: Clock, limit: ReportLimit },
  async handle({ input, caller, deps, work, signal }) {
    const { store, analytics, ids, clock, limit } = deps
    const organization = caller.organization.id
    const slug = input.slug ?? slugOf(input.name, "report")
    const reports = store.open(ReportsCollection, organization)
    if (await reports.first({ slug }))
      throw new AppError("already_exists", `There is a report "${slug}" already; give another name or slug.`, {
        reason: "slug_taken",
        slug,
      })
    if ((await reports.count({}, { limit })) >= limit)
      throw new AppError("resource_exhausted", `The organization has ${limit} reports already; delete some.`, {
        reason: "too_many_reports",
      })
    const { snapshot } = await analytics.query(caller, input, signal)
    const { id, copy_id, revision, as_of } = snapshot
    const report: Report = {
      id: ids.uuid(),
      slug,
      name: input.name,
      query: input.query,
      snapshot: { id, copy_id, revision, as_of },
      created_at: timestamp(clock.now()),
    }
    work.in(ReportsCollection, organization).insert(report)
    return toWire(report)
  },
})

export const listReports = defineList({
  name: "page_analytics.list_reports",
  summary: "List saved reports, newest first.",
  path,
  access: { scope: "page_analytics:read", role: "member" },
  columns: ["slug", "name", "as_of", "created_at"],
  collection: ReportsCollection,
  items: { reports: ReportWire },
  view: toWire,
})

export const getReport = defineOperation({
  name: "page_analytics.get_report",
  summary: "Read a saved report: its query and its snapshot.",
  http: { method: "GET", path: `${path}/{slug}` },
  access: { scope: "page_analytics:read", role: "member" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({ slug: SlugOrId }),
  output: ReportWire,
  errors: ["not_found"],
  examples: [thatOne],
  inject: { store: Store },
  handle: async ({ input, caller, deps }) => toWire(await requireReport(deps.store, caller.organization.id, input.slug)),
})

export const runReport = defineOperation({
  name: "page_analytics.run_report",
  summary: "Run a saved report: of its snapshot, or of the events as they are now.",
  description: "Of its snapshot the rows are those that were saved. Where they cannot be had again, the refusal `snapshot_gone` says why.",
  http: { method: "POST", path: `${path}/{slug}/run` },
  access: { scope: "page_analytics:read", role: "member" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({
    slug: SlugOrId,
    fresh: z.boolean().default(false).describe("Of the events as they are now; the report stays as it is."),
  }),
  output: Answer.extend({ report: ReportWire }),
  errors: [
    "not_found",
    "invalid_argument",
    "permission_denied",
    "failed_precondition",
    "resource_exhausted",
    "deadline_exceeded",
    "unavailable",
  ],
  examples: [thatOne],
  inject: { store: Store, analytics: PageAnalytics },
  async handle({ input, caller, deps, signal }) {
    const report = await requireReport(deps.store, caller.organization.id, input.slug)
    const asking = { query: report.query, ...(input.fresh ? {} : { snapshot: report.snapshot.id }) }
    const { snapshot, ...answer } = await deps.analytics.query(caller, asking, signal)
    return { ...answer, ...noteOf(answer), snapshot: snapshot.id, report: toWire(report) }
  },
})

export const deleteReport = defineOperation({
  name: "page_analytics.delete_report",
  summary: "Delete a saved report; what only its snapshot needed is removed.",
  http: { method: "DELETE", path: `${path}/{slug}` },
  access: { scope: "page_analytics:write", role: "member" },
  hints: { readOnly: false, destructive: true, idempotent: false },
  input: z.strictObject({ slug: SlugOrId }),
  output: z.object({ deleted: z.string() }),
  errors: ["not_found", "aborted"],
  examples: [thatOne],
  inject: { store: Store },
  async handle({ input, caller, deps, work }) {
    const report = await requireReport(deps.store, caller.organization.id, input.slug)
    work.in(ReportsCollection, caller.organization.id).remove(report.id)
    return { deleted: report.slug }
  },
})
