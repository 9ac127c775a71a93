// The report as data and as a printable document.
import { z } from "zod"
import { defineOperation, resultOf } from "#core"
import type { Streamed } from "#core/engine"
import { bySlug, onThatPage, pageOfTwo } from "../experiment.ts"
import { reportPage } from "../report/page.ts"
import { Reports } from "../report/reports.ts"
import { Report } from "../report/resource.ts"

const examples = [{ given: { page: pageOfTwo, experiment: onThatPage }, input: { slug: resultOf("experiment.slug") } }]
const access = { scope: "experiments:read", role: "guest" } as const
const hints = { readOnly: true, destructive: false, idempotent: true }

export const getReport = defineOperation({
  name: "experiments.report",
  summary: "Read all evidence on an experiment side by side: panel, tournament, feedback and visitors.",
  description:
    "Read from the ledger: panel and tournament are fitted again from their observations, corrections included, and the newest of each is shown. Visitors of a running experiment are counted now; those of an ended one are as the ledger has them.",
  http: { method: "GET", path: "/v1/experiments/{slug}/report" },
  access,
  hints,
  input: z.strictObject(bySlug),
  output: Report,
  errors: ["not_found"],
  examples,
  inject: { reports: Reports },
  handle: ({ input, caller, deps, signal }) => deps.reports.of(caller.organization.id, input.slug, signal),
})

export const exportReport = defineOperation({
  name: "experiments.export_report",
  summary: "Export an experiment's report as one HTML document with pictures, to read offline or to print.",
  description: "It holds no script and loads nothing.",
  http: { method: "GET", path: "/v1/experiments/{slug}/report/export" },
  access,
  hints,
  input: z.strictObject({ ...bySlug, format: z.enum(["html"]).default("html") }),
  output: z.custom<Streamed>(),
  errors: ["not_found"],
  examples,
  streams: ["text/html"],
  mcp: { absent: "It is for people to look at; experiments_report has the same as data." },
  inject: { reports: Reports },
  async handle({ input, caller, deps, signal }): Promise<Streamed> {
    const report = await deps.reports.of(caller.organization.id, input.slug, signal)
    const chunks = (async function* () {
      yield reportPage(report)
    })()
    return { contentType: "text/html; charset=utf-8", fileName: `${report.experiment.slug}-report.html`, chunks }
  },
})
