// Operations that start and archive experiments.
import { z } from "zod"
import { AppError, Clock, defineOperation, resultOf, Scheduler, timestamp } from "#core"
import { Pages } from "../../pages/index.ts"
import { keepSchedules } from "../collections.ts"
import { bySlug, ExperimentResource, Experiments, onThatPage, pageOfTwo, requireFloor, requireStatus } from "../experiment.ts"

const madeExperiment = { given: { experiment: "experiments.create" }, input: { slug: resultOf("experiment.slug") } }

export const startExperiment = defineOperation({
  name: "experiments.start",
  summary: "Start an experiment: from now on its visitors count, and what it measures is settled.",
  http: { method: "POST", path: "/v1/experiments/{slug}/start" },
  access: { scope: "experiments:write", role: "member" },
  hints: { readOnly: false, destructive: false, idempotent: true },
  input: z.strictObject(bySlug),
  output: ExperimentResource.answer,
  errors: ["not_found", "failed_precondition", "aborted"],
  examples: [
    {
      given: {
        page: pageOfTwo,
        published: { operation: "pages.publish", input: { slug: resultOf("page.slug") } },
        experiment: onThatPage,
      },
      input: { slug: resultOf("experiment.slug") },
    },
  ],
  inject: { experiments: Experiments, pages: Pages, clock: Clock, scheduler: Scheduler },
  async handle({ input, caller, deps, work }) {
    const organization = caller.organization.id
    const experiment = await deps.experiments.require(organization, input.slug)
    if (experiment.status === "running") return ExperimentResource.show(experiment)
    requireStatus(experiment, ["draft"], "Starting")
    const page = experiment.page_id === null ? undefined : await deps.pages.get(organization, experiment.page_id)
    const there = experiment.variants.filter(({ page_variant }) => page?.variants.some(({ key }) => key === page_variant))
    if (there.length < 2 || there.length < experiment.variants.length) {
      const lacking = experiment.variants.filter((variant) => !there.includes(variant)).map(({ page_variant }) => page_variant)
      const which = lacking.length > 0 ? `the page has no variant ${lacking.join(", ")}` : `it has ${there.length}`
      throw new AppError("failed_precondition", `An experiment starts with at least two variants, each one of its page: ${which}.`, {
        reason: "variants_missing",
      })
    }
    if (page?.status !== "published") {
      throw new AppError(
        "failed_precondition",
        `The page "${page?.slug}" is not published; POST /v1/pages/${page?.slug}/publish does that.`,
        {
          reason: "page_not_published",
        },
      )
    }
    requireFloor(experiment.allocation, experiment.variants.length)
    const started = deps.experiments.update(work, organization, experiment, {
      status: "running",
      started_at: timestamp(deps.clock.now()),
    })
    keepSchedules(deps.scheduler, work, organization, started)
    return ExperimentResource.show(started)
  },
  onConflict: async ({ error }) => error,
})

export const archiveExperiment = defineOperation({
  name: "experiments.archive",
  summary: "Archive an experiment; its ledger stays.",
  http: { method: "POST", path: "/v1/experiments/{slug}/archive" },
  access: { scope: "experiments:write", role: "member" },
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject(bySlug),
  output: ExperimentResource.answer,
  errors: ["not_found", "aborted"],
  examples: [madeExperiment],
  inject: { experiments: Experiments, clock: Clock, scheduler: Scheduler },
  async handle({ input, caller, deps, work }) {
    const organization = caller.organization.id
    const experiment = await deps.experiments.require(organization, input.slug)
    if (experiment.status === "archived") return ExperimentResource.show(experiment)
    const ended_at = experiment.ended_at ?? timestamp(deps.clock.now())
    const archived = deps.experiments.update(work, organization, experiment, { status: "archived", ended_at })
    keepSchedules(deps.scheduler, work, organization, archived)
    return ExperimentResource.show(archived)
  },
  onConflict: async ({ error }) => error,
})
