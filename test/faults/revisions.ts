// Faults in revisions: a stale change is stored, or a faster commit is overwritten.
import type { Fault } from "./fault.ts"

const revisions = "test/surface/parity/revisions.test.ts"
const conflicts = "test/surface/parity/conflicts.test.ts"
const stale = (operation: string) => `a call for another revision is refused and changes nothing: ${operation}`
const second = (operation: string) => `a call that meets a faster commit ${operation}`

/** Calls of `requireRevision`, by area. */
const checks: readonly (readonly [file: string, find: string, operation: string])[] = [
  ["core/resource/build.ts", "requireRevision(this.#named.word, before.revision, expected_revision as number | undefined)", "pages.update"],
  [
    "plugins/capture/pipelines/pipelines.ts",
    'requireRevision("pipeline", stored.revision, expectedRevision, { slug: stored.slug })',
    "event_pipelines.update",
  ],
  [
    "core/resource/build.ts",
    "requireRevision(this.#named.word, before.revision, expected_revision as number | undefined)",
    "knowledge.update",
  ],
  [
    "core/resource/build.ts",
    "requireRevision(this.#named.word, before.revision, expected_revision as number | undefined)",
    "evals.update_case",
  ],
  [
    "core/resource/build.ts",
    "requireRevision(this.#named.word, before.revision, expected_revision as number | undefined)",
    "datasets.update",
  ],
  [
    "core/resource/build.ts",
    "requireRevision(this.#named.word, before.revision, expected_revision as number | undefined)",
    "heartbeats.update",
  ],
  [
    "plugins/agents/integrations/operations/update.ts",
    'requireRevision("integration", connection.revision, expected_revision)',
    "integrations.update",
  ],
  [
    "plugins/agents/workstreams/operations/phases.ts",
    'requireRevision("phase", phase.revision, expected_revision)',
    "workstreams.update_phase",
  ],
]

export const revisionFaults: readonly Fault[] = [
  ...checks.map(([file, find, operation]) => ({
    rule: `A stale revision is stored by ${operation}`,
    file,
    find,
    replace: "undefined",
    test: revisions,
    title: stale(operation),
  })),
  {
    rule: "A change by revision overwrites a faster commit",
    file: "core/contract/revision.ts",
    find: "{ where: { revision: stored.revision } }",
    replace: "{}",
    test: conflicts,
    title: second("agents.update"),
  },
  {
    rule: "A change of a pipeline overwrites a faster commit",
    file: "plugins/capture/pipelines/pipelines.ts",
    find: "{ where: { revision: stored.revision } }",
    replace: "{}",
    test: conflicts,
    title: second("event_pipelines.update"),
  },
  {
    rule: "A change of a phone number overwrites a faster commit",
    file: "core/contract/revision.ts",
    find: "{ where: { revision: stored.revision } }",
    replace: "{}",
    test: conflicts,
    title: second("phone_numbers.update"),
  },
  {
    rule: "A check of a connection overwrites a faster commit",
    file: "plugins/agents/integrations/health/record.ts",
    find: "{ where: { revision } }",
    replace: "{}",
    test: conflicts,
    title: second("integrations.test"),
  },
  {
    rule: "A new state of a replay plan overwrites a faster commit",
    file: "plugins/capture/executions/replaying/plans.ts",
    find: "{ where: { revision: before.revision } }",
    replace: "{}",
    test: conflicts,
    title: second("replay_plans.pause"),
  },
  {
    rule: "A part is added to a workstream that is archived at the same moment",
    file: "plugins/agents/workstreams/workstreams.ts",
    find: "{ where: { status } }",
    replace: "{}",
    test: "test/plugins/workstreams/workstreams.test.ts",
    title: "workstreams get no part from a call that an archive overtakes",
  },
  {
    rule: "Calls of models at the same instant pass the budget of the day together",
    file: "plugins/agents/models/budget.ts",
    find: "holds.take(organization, call, accounts)",
    replace: "undefined",
    test: "test/plugins/models/models.test.ts",
    title: "budgets of models hold for a day, also for calls at the same instant",
  },
  {
    rule: "Two deciders decide one approval",
    file: "plugins/platform/approvals/approvals.ts",
    find: 'work.in(ApprovalCollection, organization).update(approval.id, { $set: changesOf(changed) }, { where: { state: "pending" } })',
    replace: "work.in(ApprovalCollection, organization).update(approval.id, { $set: changesOf(changed) })",
    test: "test/plugins/approvals/attacked.test.ts",
    title: "approvals, attacked by many deciders at once: one decides, the others are told so",
  },
]
