// A plugin with a job that waits for approval and stores its payload. Also helpers for its tests.
import { z } from "zod"
import { type AppError, type Document, defineCollection, defineJob, definePlugin, JobQueue, Store, UnitsOfWork } from "#core"
import type { TestHost } from "#core/testing"
import { JobCollection } from "../../../core/jobs/jobs-collection.ts"
import { until } from "../../waiting.ts"
import { memberOf } from "./gated-notes.ts"

interface Report extends Document {
  to: string
  api_key: string
}

const ReportCollection = defineCollection<Report>()({ name: "gated_reports", scope: "organization", times: [], indexes: [] })

/** Hook before a report is stored, and final errors of runs. */
export const reports = { before: () => {}, refused: [] as unknown[] }

export const sendReport = defineJob({
  type: "reports.send",
  summary: "Sends a report.",
  payload: z.strictObject({ to: z.email(), api_key: z.string().default("") }),
  retry: { max_attempts: 2, initial_delay_ms: 5, factor: 2, max_delay_ms: 20 },
  gate: { name: "reports.send", risk: "high", summary: "Sending reports.", what: ({ to }) => `Send the report to ${to}.` },
  async run({ payload, organization = "", jobId, work }) {
    reports.before()
    work.in(ReportCollection, organization).insert({ id: jobId, ...payload })
  },
  exhausted: (_args, error) => void reports.refused.push((error as AppError).details?.reason ?? (error as Error).message),
})

export const gatedReports = definePlugin({
  id: "gated-reports",
  config: z.strictObject({}),
  register(registrar) {
    registrar.collections(ReportCollection)
    registrar.jobs(sendReport)
  },
})

export interface Approval {
  readonly id: string
  readonly state: string
  readonly subject: { kind: string; name: string }
  readonly what: string
  readonly risk: string
  readonly input: unknown
  readonly digest: string
  readonly receipt: { ok: boolean; digest: string; error: { message: string } | null } | null
}
export const secondAdmin = async (host: TestHost) => (await memberOf(host, "second")).key
export const enqueue = (host: TestHost, payload: { to: string; api_key?: string }, options = {}) =>
  host.get(UnitsOfWork).run((work) => {
    return host.get(JobQueue).enqueue(work, sendReport, payload, { organization: host.organization.id, ...options })
  })
export const reportCount = (host: TestHost) => host.get(Store).open(ReportCollection, host.organization.id).find({})
export const approval = async (host: TestHost, id: string) => (await host.api<Approval>("GET", `/v1/approvals/${id}`)).body
export const waitsFor = (host: TestHost, to: string) =>
  until(`the report to ${to} waiting`, async () => {
    const { body } = await host.api<{ approvals: Approval[] }>("GET", "/v1/approvals?state=pending")
    return body.approvals.find(({ what }) => what.includes(to))
  })
export const whenRemoved = (host: TestHost, id: string) =>
  until("the job to be gone", async () => (await host.get(Store).open(JobCollection).get(id)) === undefined)
