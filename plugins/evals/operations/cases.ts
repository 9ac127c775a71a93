// The cases of a suite, written by hand.
import { z } from "zod"
import {
  AppError,
  Clock,
  defineList,
  defineOperation,
  Ids,
  isUuid,
  Name,
  requireRevision,
  resultOf,
  Slug,
  SlugOrId,
  Store,
  stageRevision,
  Uuid,
} from "#core"
import { CaseCollection, type StoredCase } from "../collections.ts"
import { newCase } from "../new-case.ts"
import { type Suites, SuitesToken } from "../suites.ts"
import { bySuite, CaseResource, caseFields, ExpectedRevision, madeCase, madeSuite, ofThatSuite, shownCase } from "./resource.ts"

const path = "/v1/evals/suites/{suite}/cases"
const bySlug = { ...bySuite, slug: SlugOrId.describe("Slug or UUID of the case.") }
const thatCase = { ...ofThatSuite, slug: resultOf("case.slug") }

export const createCase = defineOperation({
  name: "evals.create_case",
  summary: "Add a case to an eval suite: what the agent is given, and what a right answer does.",
  http: { method: "POST", path },
  access: { scope: "evals:write", role: "member" },
  hints: { readOnly: false, destructive: false, idempotent: false },
  input: z.strictObject({
    ...bySuite,
    ...caseFields,
    name: Name,
    slug: Slug.optional().describe("Made from the name when absent, with -2 where that is taken."),
    rubric: caseFields.rubric.default(""),
    critical: caseFields.critical.default(false),
  }),
  output: CaseResource,
  errors: ["invalid_argument", "not_found", "already_exists", "failed_precondition"],
  examples: [{ given: madeSuite, input: madeCase.input }],
  inject: { store: Store, suites: SuitesToken, clock: Clock, ids: Ids },
  async handle({ input: { suite: ref, ...given }, caller, deps, work }) {
    const suite = await deps.suites.require(caller.organization.id, ref)
    return shownCase(await newCase(deps, work, caller.organization.id, suite, { ...given, source: null }))
  },
})

export const listCases = defineList({
  name: "evals.list_cases",
  summary: "List the cases of an eval suite, newest first.",
  path,
  access: { scope: "evals:read", role: "member" },
  columns: ["slug", "name", "critical", "expectation", "updated_at"],
  input: bySuite,
  examples: [{ given: madeSuite, input: ofThatSuite }],
  inject: { suites: SuitesToken },
  collection: CaseCollection,
  where: async ({ suite }, { organization, deps }) => ({ suite_id: (await deps.suites.require(organization, suite)).id }),
  items: { cases: CaseResource },
  view: shownCase,
})

export const getCase = defineOperation({
  name: "evals.get_case",
  summary: "Read a case of an eval suite.",
  http: { method: "GET", path: `${path}/{slug}` },
  access: { scope: "evals:read", role: "member" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject(bySlug),
  output: CaseResource,
  errors: ["not_found"],
  examples: [{ given: { ...madeSuite, case: madeCase }, input: thatCase }],
  inject: { store: Store, suites: SuitesToken },
  handle: async ({ input, caller, deps }) => shownCase(await requireCase(deps, caller.organization.id, input)),
})

export const updateCase = defineOperation({
  name: "evals.update_case",
  summary: "Change a case. Runs keep what they were judged by; a changed expectation or rubric has the last passing answers judged again.",
  http: { method: "PATCH", path: `${path}/{slug}` },
  access: { scope: "evals:write", role: "member" },
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject({
    ...bySlug,
    name: Name.optional(),
    input: caseFields.input.optional(),
    expectation: caseFields.expectation.optional(),
    rubric: caseFields.rubric.optional(),
    critical: caseFields.critical.optional(),
    expected_revision: ExpectedRevision,
  }),
  output: CaseResource,
  errors: ["invalid_argument", "not_found", "aborted"],
  examples: [
    { given: { ...madeSuite, case: madeCase }, input: { ...thatCase, critical: true, expected_revision: resultOf("case.revision") } },
  ],
  inject: { store: Store, suites: SuitesToken, clock: Clock },
  async handle({ input: { suite, slug, expected_revision, ...given }, caller, deps, work }) {
    const organization = caller.organization.id
    const stored = await requireCase(deps, organization, { suite, slug })
    requireRevision("case", stored.revision, expected_revision)
    return shownCase(stageRevision(work.in(CaseCollection, organization), stored, given, deps.clock.now()))
  },
})

export const deleteCase = defineOperation({
  name: "evals.delete_case",
  summary: "Remove a case. The next run shows it as missing until one without it is accepted.",
  http: { method: "DELETE", path: `${path}/{slug}` },
  access: { scope: "evals:write", role: "member" },
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject(bySlug),
  output: z.object({ id: Uuid, deleted: z.literal(true) }),
  errors: ["not_found"],
  examples: [{ given: { ...madeSuite, case: madeCase }, input: thatCase }],
  inject: { store: Store, suites: SuitesToken },
  async handle({ input, caller, deps, work }) {
    const { id } = await requireCase(deps, caller.organization.id, input)
    work.in(CaseCollection, caller.organization.id).remove(id, { optional: true })
    return { id, deleted: true as const }
  },
})

/** Throws `not_found`. */
async function requireCase(
  { store, suites }: { readonly store: Store; readonly suites: Suites },
  organization: string,
  { suite: ref, slug }: { readonly suite: string; readonly slug: string },
): Promise<StoredCase> {
  const suite = await suites.require(organization, ref)
  const cases = store.open(CaseCollection, organization)
  const found = isUuid(slug) ? await cases.get(slug) : await cases.first({ suite_id: suite.id, slug })
  if (found?.suite_id === suite.id) return found
  const message = `The suite "${suite.slug}" has no case "${slug}"; GET /v1/evals/suites/${suite.slug}/cases lists them.`
  throw new AppError("not_found", message, { reason: "case_not_found" })
}
