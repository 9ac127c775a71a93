// Making, listing, reading, changing and removing eval suites (specification 2.3, 4.5).
import { z } from "zod"
import {
  Clock,
  defineList,
  defineOperation,
  Ids,
  Name,
  omitReadOnly,
  readOnlyInput,
  requireRevision,
  resultOf,
  Slug,
  SlugOrId,
  Store,
  slugOf,
  timestamp,
  Uuid,
  uniqueSlug,
} from "#core"
import { Models } from "../../models/index.ts"
import { type StoredSuite, SuiteCollection } from "../collections.ts"
import { requireFitting } from "../fitting.ts"
import { type SuiteChange, SuitesToken, slugTaken } from "../suites.ts"
import { ExpectedRevision, madeSuite, readOnlySuiteFields, SuiteResource, shownSuite, suiteFields } from "./resource.ts"

const path = "/v1/evals/suites"
const fitting = { store: Store, models: Models }
const bySlug = { slug: SlugOrId.describe("Slug, former slug or UUID of the suite.") }
const thatSuite = { slug: resultOf("suite.suite.slug") }

export const createSuite = defineOperation({
  name: "evals.create_suite",
  summary: "Make an eval suite: cases that an agent is judged by.",
  http: { method: "POST", path },
  access: { scope: "evals:write", role: "member" },
  hints: { readOnly: false, destructive: false, idempotent: false },
  input: z.strictObject({
    name: Name,
    slug: Slug.optional().describe("Made from the name when absent, with -2 where that is taken."),
    description: suiteFields.description.default(""),
    agent_key: suiteFields.agent_key.default(""),
    judge_model: suiteFields.judge_model.default(""),
    pass_threshold: suiteFields.pass_threshold.default(80),
    evaluate_artifact: suiteFields.evaluate_artifact.default(false),
    cron_enabled: suiteFields.cron_enabled.default(false),
  }),
  output: z.object({ suite: SuiteResource }),
  errors: ["invalid_argument", "not_found", "already_exists", "failed_precondition"],
  examples: [
    {
      given: { agent: "agents.create" },
      input: { name: "Answers of the front desk", agent_key: resultOf("agent.key"), pass_threshold: 90 },
    },
  ],
  inject: { suites: SuitesToken, clock: Clock, ids: Ids, ...fitting },
  async handle({ input, caller, deps, work }) {
    const organization = caller.organization.id
    const isTaken = async (slug: string) => (await deps.suites.find(organization, slug)) !== undefined
    if (input.slug !== undefined && (await isTaken(input.slug))) throw slugTaken(input.slug, "slug")
    const slug = input.slug ?? (await uniqueSlug(slugOf(input.name, "suite"), isTaken))
    await requireFitting(deps, organization, input)
    const at = timestamp(deps.clock.now())
    const suite: StoredSuite = {
      ...input,
      id: deps.ids.uuid(),
      slug,
      created_by_user_id: caller.user?.id ?? null,
      revision: 1,
      created_at: at,
      updated_at: at,
    }
    await deps.suites.create(work, organization, suite)
    return { suite: shownSuite({ ...suite, organization_id: organization }) }
  },
})

export const listSuites = defineList({
  name: "evals.list_suites",
  summary: "List the organization's eval suites, newest first.",
  path,
  access: { scope: "evals:read", role: "guest" },
  columns: ["slug", "name", "agent_key", "pass_threshold", "cron_enabled", "updated_at"],
  collection: SuiteCollection,
  items: { suites: SuiteResource },
  view: shownSuite,
})

export const getSuite = defineOperation({
  name: "evals.get_suite",
  summary: "Read an eval suite.",
  http: { method: "GET", path: `${path}/{slug}` },
  access: { scope: "evals:read", role: "guest" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject(bySlug),
  output: SuiteResource,
  errors: ["not_found"],
  examples: [{ given: madeSuite, input: thatSuite }],
  inject: { suites: SuitesToken },
  handle: async ({ input, caller, deps }) => shownSuite(await deps.suites.require(caller.organization.id, input.slug)),
})

export const updateSuite = defineOperation({
  name: "evals.update_suite",
  summary: "Change an eval suite: only the fields that are given.",
  description:
    "Takes back what a read answered. `suite_slug` is the slug of the path, or a free one to rename the suite to; the old slug goes on answering. Runs keep the threshold that they were judged by; after a change of the judge the last passing answers are judged again before anything is called a regression.",
  http: { method: "PUT", path: `${path}/{slug}` },
  access: { scope: "evals:write", role: "member" },
  hints: { readOnly: false, destructive: true, idempotent: true },
  mcp: { listed: true },
  input: z.strictObject({
    ...bySlug,
    suite_slug: Slug.optional().describe("The suite's slug, or the one to rename it to."),
    name: Name.optional(),
    description: suiteFields.description.optional(),
    agent_key: suiteFields.agent_key.optional(),
    judge_model: suiteFields.judge_model.optional(),
    pass_threshold: suiteFields.pass_threshold.optional(),
    evaluate_artifact: suiteFields.evaluate_artifact.optional(),
    cron_enabled: suiteFields.cron_enabled.optional(),
    expected_revision: ExpectedRevision,
    ...readOnlyInput(readOnlySuiteFields),
  }),
  output: z.object({ suite: SuiteResource }),
  errors: ["invalid_argument", "not_found", "already_exists", "aborted", "failed_precondition"],
  examples: [
    {
      given: madeSuite,
      input: { ...thatSuite, pass_threshold: 95, cron_enabled: true, expected_revision: resultOf("suite.suite.revision") },
    },
  ],
  inject: { suites: SuitesToken, ...fitting },
  async handle({ input, caller, deps, work }) {
    const organization = caller.organization.id
    const { slug: at, suite_slug, expected_revision, ...fields } = input
    const suite = await deps.suites.require(organization, at)
    requireRevision("suite", suite.revision, expected_revision)
    const given = omitReadOnly(fields, shownSuite(suite), readOnlySuiteFields)
    // A former slug in the path that is repeated in the body names the suite; it renames nothing.
    const slug = suite_slug === undefined || suite_slug === at ? suite.slug : suite_slug
    const wanted = Object.entries({ ...given, slug }).filter(([, value]) => value !== undefined)
    const change = Object.fromEntries(wanted.filter(([name, value]) => suite[name as keyof StoredSuite] !== value)) as SuiteChange
    if (Object.keys(change).length === 0) return { suite: shownSuite(suite) }
    await requireFitting(deps, organization, change)
    return { suite: shownSuite(await deps.suites.update(work, organization, suite, change)) }
  },
})

export const deleteSuite = defineOperation({
  name: "evals.delete_suite",
  summary: "Remove an eval suite with its cases; its runs go when they expire.",
  http: { method: "DELETE", path: `${path}/{slug}` },
  access: { scope: "evals:write", role: "member" },
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject(bySlug),
  output: z.object({ id: Uuid, deleted: z.literal(true) }),
  errors: ["not_found", "aborted"],
  examples: [{ given: madeSuite, input: thatSuite }],
  inject: { suites: SuitesToken },
  async handle({ input, caller, deps, work }) {
    const suite = await deps.suites.require(caller.organization.id, input.slug)
    await deps.suites.remove(work, caller.organization.id, suite)
    return { id: suite.id, deleted: true as const }
  },
})
