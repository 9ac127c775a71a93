// A report with every possible part, for tests of its page.
import type { Operations, OutputOf } from "../../../client/index.ts"

type Report = OutputOf<Operations["experiments.report"]>

/** As long as a key may be. */
const longKey = "price-first-and-then-everything-else-that-anybody-may-ask-about-"

const at = (day: number) => new Date(Date.UTC(2026, 8, 1 + day, 6)).toISOString()
const counted = (variant_key: string, visitors: number, rate: number) => {
  const half = 1.2 * Math.sqrt((rate * (1 - rate)) / Math.max(visitors, 20)) + 0.3 / Math.sqrt(visitors)
  const [rate_low, rate_high] = [Math.max(0, rate - half * 1.6), rate + half * 1.6]
  return { variant_key, visitors, conversions: Math.round(visitors * rate), rate, rate_low, rate_high }
}

/** `text` is in every place for text of strangers. */
export function reportWith(text: string): Report {
  const keys = ["control", "short-headline", longKey]
  return {
    experiment: {
      id: "0190a000-0000-7000-8000-000000000001",
      slug: "shorter-headline",
      name: `Shorter headline ${text}`,
      hypothesis: `A shorter headline makes more readers ask for a demo. ${text}`,
      page_id: null,
      variants: keys.map((key) => ({ key, page_variant: key })),
      goal: { kind: "lead" },
      guardrails: [],
      status: "decided",
      decision: { variant_key: "short-headline", reason: `It converts best. ${text}`, decided_by: "human:1", decided_at: at(30) },
      revision: 4,
      created_at: at(0),
      updated_at: at(30),
      started_at: at(1),
    } as unknown as Report["experiment"],
    as_of: at(30),
    summary: keys.map((variant_key, place) => ({
      variant_key,
      panel_score: [2.61, 3.72, 3.2][place] ?? null,
      panel_rank: [3, 1, 1][place] ?? null,
      tournament_strength: [-1.31, 1.12, 0.19][place] ?? null,
      tournament_rank: place === 1 ? 1 : 2,
      feedback: place,
      conversion_rate: [0.031, 0.044, 0.035][place] ?? null,
    })),
    panel: {
      run_id: "r1",
      at: at(2),
      judge_slug: `model:persona-1${text}@panel`,
      corrected: 1,
      earlier_runs: 2,
      text_from: "browser",
      personas: ["founder", "buyer"],
      cells: 12,
      ranking: [
        { variant_key: "short-headline", rank: 1, score: 3.72, interval: { low: 3.2, high: 4.24 } },
        { variant_key: longKey, rank: 1, score: 3.2, interval: { low: 2.71, high: 3.69 } },
        { variant_key: "control", rank: 3, score: 2.61, interval: null },
      ],
      kill_list: [{ variant_key: "control", reason: `1.11 points below. founder said: Too long. ${text}` }],
      persona_scores: keys.flatMap((variant_key) =>
        ["founder", "buyer"].map((persona_slug) => ({ persona_slug, variant_key, score: 3, interval: null, draws: 2 })),
      ),
      failed_cells: [{ persona_slug: "buyer", variant_key: "control", draw: 2, reason: `The model declined: ${text}` }],
    },
    tournament: {
      run_id: "r2",
      at: at(3),
      judge_slug: "model:judge-1@judge-v1",
      corrected: 0,
      earlier_runs: 0,
      text_from: "browser",
      criteria: `Which page would make more readers ask for a demo? ${text}`,
      outcome: "leader",
      leader_key: "short-headline",
      rounds: 31,
      skipped_pairs: 1,
      comparisons_to_decision: 0,
      cost_millicents: 1_240,
      position_effect: { share_of_first: 0.54, se: 0.06 },
      flip_rate: 0.13,
      note: "",
      ranking: [
        {
          variant_key: "short-headline",
          rank: 1,
          strength: 1.12,
          low: 0.4,
          high: 1.84,
          score: 0.84,
          comparisons: 44,
          represents: ["short-headline"],
        },
        {
          variant_key: longKey,
          rank: 2,
          strength: 0.19,
          low: -0.5,
          high: 0.88,
          score: 0.5,
          comparisons: 40,
          represents: [longKey],
        },
        { variant_key: "control", rank: 2, strength: -1.31, low: -2.12, high: -0.5, score: 0.16, comparisons: 40, represents: ["control"] },
      ],
      merges: [],
    },
    feedback: [
      {
        observation_id: "0190a000-0000-7000-8000-000000000002",
        variant_key: "short-headline",
        judge_slug: "human:0190a000-0000-7000-8000-00000000000a",
        feedback: `Clear at once.\nOn a phone the button is below the fold. ${text}`,
        image_bucket_key: "",
        at: at(4),
      },
      {
        observation_id: "0190a000-0000-7000-8000-000000000003",
        variant_key: longKey,
        judge_slug: "human:0190a000-0000-7000-8000-00000000000b",
        feedback: "لماذا السعر أولاً؟",
        image_bucket_key: "",
        at: at(5),
      },
    ],
    live: {
      source: "ledger",
      as_of: at(30),
      outcome: "better",
      leader_key: "short-headline",
      message: `short-headline converts better than the control. ${text}`,
      sample_ratio: { verdict: "as_expected", p_value: 0.41 },
      variants: [counted("control", 4_102, 0.031), counted("short-headline", 4_077, 0.044), counted(longKey, 4_120, 0.035)],
      guardrails: keys.map((variant_key) => ({
        metric: "lcp_ms",
        variant_key,
        value: 1_840,
        low: 1_720,
        high: 2_011,
        verdict: "not_harmed",
      })),
      series: Array.from({ length: 29 }, (_, day) => ({
        at: at(day + 1),
        variants: [
          counted("control", 140 * (day + 1), 0.031 + 0.012 / (day + 1)),
          counted("short-headline", 140 * (day + 1), 0.044 - 0.02 / (day + 1)),
          counted(longKey, 142 * (day + 1), 0.035 + 0.004 * Math.sin(day / 3)),
        ],
      })),
    },
  }
}
