// Faults in slugs: one slug names two things, or a former slug is lost.
import type { Fault } from "./fault.ts"

const takenSlugs = "test/surface/parity/taken-slugs.test.ts"
const title = (operation: string) => `a slug that is taken is refused with slug_taken, and free in another organization: ${operation}`

/** Checks of a taken slug, by area. */
const checks: readonly (readonly [file: string, find: string, operation: string])[] = [
  ["core/resource/keys.ts", "await isTaken(given)", "datasets.create"],
  ["core/resource/keys.ts", "await isTaken(given)", "pages.create"],
  [
    "plugins/capture/pipelines/pipelines.ts",
    "await this.#deps.store.open(Pipelines, organization).first({ slug })",
    "event_pipelines.create",
  ],
  ["core/resource/keys.ts", "await isTaken(given)", "agents.create"],
  ["core/resource/keys.ts", "await isTaken(given)", "evals.create_suite"],
  ["core/resource/keys.ts", "await isTaken(given)", "evals.create_case"],
  ["core/resource/keys.ts", "await isTaken(given)", "experiments.create"],
  ["core/resource/keys.ts", "await isTaken(given)", "personas.create"],
  ["plugins/agents/workstreams/operations/workstreams.ts", "slug !== undefined && (await isTaken(slug))", "workstreams.create"],
  ["core/resource/keys.ts", "await isTaken(given)", "workstream_templates.create"],
  ["plugins/pages/page-analytics/reports.ts", "await reports.first({ slug })", "page_analytics.save_report"],
]

export const slugFaults: readonly Fault[] = [
  ...checks.map(([file, find, operation]) => ({
    rule: `A taken slug is accepted by ${operation}`,
    file,
    find,
    replace: "undefined",
    test: takenSlugs,
    title: title(operation),
  })),
  {
    rule: "The former slug of an eval suite is lost",
    file: "core/resource/items.ts",
    find: "await former?.ownerOf(store, organization, keyOrId)",
    replace: "(await items.first({ slug: keyOrId }))?.id",
    test: "test/plugins/evals/suites.test.ts",
    title: "eval suites are renamed by suite_slug, and go on answering to the old slug",
  },
  {
    rule: "An eval suite takes the slug of another one",
    file: "core/resource/changes.ts",
    find: "owner !== undefined && owner !== before.id",
    replace: "false",
    test: "test/plugins/evals/suites.test.ts",
    title: "eval suites are renamed by suite_slug, and go on answering to the old slug",
  },
  {
    rule: "The former slug of an organization names nothing",
    file: "plugins/platform/organizations/directory.ts",
    find: "slugRow && (await collection().get(slugRow.owner_id))",
    replace: "undefined",
    test: "test/plugins/organizations/tenants/creation.test.ts",
    title: "slugs of organizations change by PATCH, and the earlier slug still names the organization",
  },
]
