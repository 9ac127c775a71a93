// Ends an experiment with a decision.
import { z } from "zod"
import { Clock, defineOperation, requireRevision, resultOf, Scheduler, Store, Uuid } from "#core"
import { Pages } from "../../pages/index.ts"
import { bySlug, ExperimentResource, Experiments, VariantKey } from "../experiment.ts"
import { Ledger } from "../ledger.ts"
import { decide, decidedBefore } from "../live/decide.ts"
import { LiveEvidenceReader } from "../live/reader.ts"
import { StoppingReport } from "../live/resource.ts"
import { running } from "./live.ts"

export const decideExperiment = defineOperation({
  name: "experiments.decide",
  summary: "Decide an experiment for a variant, or for none, and end it.",
  description:
    "What is known at this moment goes on the ledger with the decision: live evidence, and digests of all observations. A repeat with the same choice is answered as the first.",
  http: { method: "POST", path: "/v1/experiments/{slug}/decide" },
  access: { scope: "experiments:write", role: "admin" },
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject({
    ...bySlug,
    variant_key: VariantKey.nullable().default(null).describe("The chosen variant; null: none."),
    rationale: z.string().trim().min(1).max(10_000).describe("Why; kept word for word."),
    give_all_visitors: z.boolean().default(false).describe("Gives the chosen variant all of the page's weight."),
    expected_revision: z.int().optional().describe("Revision that the decision was made for; refused when there is a newer one."),
  }),
  output: z.object({
    experiment: ExperimentResource.answer,
    observation_id: Uuid.describe("The decision, on the ledger."),
    warnings: z.array(z.string()).describe("What the live evidence says against the choice."),
    weights_changed: z.boolean(),
    stopping: StoppingReport,
  }),
  errors: ["invalid_argument", "not_found", "failed_precondition", "aborted", "resource_exhausted", "deadline_exceeded", "unavailable"],
  examples: [
    {
      given: running,
      input: {
        slug: resultOf("experiment.slug"),
        variant_key: "short",
        rationale: "It reads better on small screens.",
        expected_revision: resultOf("started.revision"),
      },
    },
  ],
  mcp: { absent: "A person decides an experiment." },
  inject: {
    store: Store,
    clock: Clock,
    scheduler: Scheduler,
    pages: Pages,
    experiments: Experiments,
    ledger: Ledger,
    live: LiveEvidenceReader,
  },
  async handle({ input, caller, deps, work, signal }) {
    const organization = caller.organization.id
    const match = await deps.experiments.require(organization, input.slug)
    const choice = { variantKey: input.variant_key ?? undefined, rationale: input.rationale, allVisitors: input.give_all_visitors }
    const before = await decidedBefore(deps, organization, match, choice)
    if (!before) requireRevision("experiment", match.revision, input.expected_revision)
    const { experiment, observation } = before ?? (await decide(deps, work, caller, match, choice, signal))
    const { warnings, weights_changed, stopping } = observation.details
    return {
      experiment: ExperimentResource.show(experiment),
      observation_id: observation.id,
      warnings: warnings as string[],
      weights_changed: weights_changed === true,
      stopping: stopping as unknown as z.input<typeof StoppingReport>,
    }
  },
})
