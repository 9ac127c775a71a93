// Judges of the organization: their health, and their calibration against visitors.
import { z } from "zod"
import { defineOperation } from "#core"
import { Judges } from "../judges/judges.ts"

const Share = z
  .object({
    value: z.number().nullable().describe("Null where nothing was counted."),
    low: z.number().describe("Interval, 95 %."),
    high: z.number(),
    n: z.int().describe("Of how many."),
    too_few: z.boolean().describe("Fewer than 30: the figure says little."),
  })
  .meta({ id: "JudgeShare" })

const Health = z.object({
  pairs: z.int().describe("Pairs of pages that it compared."),
  rounds: z.int().describe("Comparisons in both seats; answers kept from earlier runs are left out."),
  position_effect: Share.describe("How often the page shown first won; one half without an effect."),
  length_effect: Share.describe("How often the longer page won. Longer pages may be better: it tells over many different pages only."),
  flip_rate: Share.describe("How often the verdict changed with the seats."),
  self_agreement: Share.describe("How often the next comparison of the same pages came to the same verdict."),
  refusals: Share.describe("Askings that it declined."),
  malformed: Share.describe("Askings that it answered in no usable form."),
})

const Calibration = z.object({
  experiments: z.int().describe("Decided experiments that it judged and whose visitors were counted."),
  without_winner: z.int().describe("Those in which visitors did not tell a winner; they count for the rank agreement alone."),
  without_favourite: z.int().describe("Those in which it named no favourite."),
  hit_rate: Share.describe("How often its favourite was the variant that visitors chose."),
  hit_rate_by_chance: z.number().nullable().describe("What naming any variant would hit."),
  rank_agreement: Share.describe("Kendall's tau-b of its ranking and that of the conversion rates, from -1 to 1."),
})

export const listJudges = defineOperation({
  name: "judges.list",
  summary: "Show how each judge, persona and panel judges, and how well it foretold what visitors did.",
  description:
    "Health is read from the newest 10,000 comparisons; calibration from the newest 500 decided experiments, as far as their first 200,000 observations go.",
  http: { method: "GET", path: "/v1/judges" },
  access: { scope: "experiments:read", role: "guest" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  columns: ["judge_slug", "calibration.hit_rate.value", "calibration.experiments", "health.rounds"],
  input: z.strictObject({}),
  output: z.object({
    judges: z.array(
      z.object({
        judge_slug: z.string(),
        kind: z.enum(["model", "panel", "persona"]),
        health: Health.nullable().describe("Null of what compares no pairs."),
        calibration: Calibration,
      }),
    ),
    published: z
      .object({ hit_rate: z.number(), source: z.string() })
      .describe("What simulated visitors reached elsewhere, to compare a hit rate with."),
  }),
  errors: [],
  inject: { judges: Judges },
  handle: async ({ caller, deps, signal }) => ({
    judges: await deps.judges.cards(caller.organization.id, signal),
    published: { hit_rate: 0.67, source: "SimAB, arXiv 2603.01024: A/B tests whose winner simulated visitors named" },
  }),
})
