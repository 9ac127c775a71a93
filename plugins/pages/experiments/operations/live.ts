// Live evidence of an experiment's real visitors.
import { z } from "zod"
import { defineOperation, resultOf } from "#core"
import { bySlug, Experiments, onThatPage, pageOfTwo } from "../experiment.ts"
import { LiveEvidenceReader } from "../live/reader.ts"
import { LiveEvidence } from "../live/resource.ts"

/** Calls before examples: a running experiment. */
export const running = {
  page: pageOfTwo,
  published: { operation: "pages.publish", input: { slug: resultOf("page.slug") } },
  experiment: onThatPage,
  started: { operation: "experiments.start", input: { slug: resultOf("experiment.slug") } },
}

export const getLiveEvidence = defineOperation({
  name: "experiments.live",
  summary: "Read what an experiment's real visitors did: sample ratio, conversion, guardrails, and what they come to.",
  description: [
    "A visitor is a session of the page whose first view came after the start; it counts for the variant of that view. Test traffic does not count.",
    "Every interval and p-value is valid at all times at once, so that it may be looked at every day and the experiment ended on what it says.",
  ].join(" "),
  http: { method: "GET", path: "/v1/experiments/{slug}/live" },
  access: { scope: "experiments:read", role: "guest" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({
    ...bySlug,
    window: z
      .enum(["full_weeks", "all"])
      .default("full_weeks")
      .describe("`full_weeks`: verdicts are of weeks that are over, since days of the week differ; `all`: of all days."),
  }),
  output: LiveEvidence,
  errors: ["not_found", "resource_exhausted", "deadline_exceeded", "unavailable"],
  examples: [{ given: running, input: { slug: resultOf("experiment.slug") } }],
  inject: { experiments: Experiments, live: LiveEvidenceReader },
  async handle({ input, caller, deps, signal }) {
    const organization = caller.organization.id
    const experiment = await deps.experiments.require(organization, input.slug)
    return deps.live.of(organization, experiment, { window: input.window, signal })
  },
})
