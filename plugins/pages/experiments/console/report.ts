// An experiment's report as the screens show it.
import { formatShare, type Tone } from "#console"

export type Status = "draft" | "running" | "decided" | "archived"

export const statusTones: Readonly<Record<Status, Tone>> = { draft: "plain", running: "good", decided: "plain", archived: "plain" }

export interface Experiment {
  readonly slug: string
  readonly name: string
  readonly hypothesis: string
  readonly variants: readonly { readonly key: string; readonly page_variant: string }[]
  readonly goal: object
  readonly status: Status
  readonly decision: {
    readonly variant_key: string
    readonly reason: string
    readonly decided_by: string
    readonly decided_at: string
  } | null
  readonly revision: number
  readonly created_at: string
  readonly started_at: string | null
  readonly ended_at: string | null
}

export interface Seen {
  readonly variant_key: string
  readonly visitors: number
  readonly conversions: number
  readonly rate: number | null
  readonly rate_low: number
  readonly rate_high: number
}

export interface LiveSection {
  readonly source: "visitors" | "ledger"
  readonly as_of: string | null
  readonly outcome: string
  readonly message: string
  readonly sample_ratio: { readonly verdict: string; readonly p_value: number } | null
  readonly variants: readonly Seen[]
  readonly guardrails: readonly {
    readonly metric: string
    readonly variant_key: string
    readonly value: number | null
    readonly low: number
    readonly high: number | null
    readonly verdict: string
  }[]
  readonly series: readonly { readonly at: string; readonly variants: readonly Seen[] }[]
}

interface Judged {
  readonly at: string
  readonly judge_slug: string
  readonly corrected: number
  readonly earlier_runs: number
}

export interface Panel extends Judged {
  readonly personas: readonly string[]
  readonly cells: number
  readonly ranking: readonly {
    readonly variant_key: string
    readonly rank: number
    readonly score: number | null
    readonly interval: { readonly low: number; readonly high: number } | null
  }[]
  readonly kill_list: readonly { readonly variant_key: string; readonly reason: string }[]
  readonly persona_scores: readonly {
    readonly persona_slug: string
    readonly variant_key: string
    readonly score: number | null
    readonly draws: number
  }[]
  readonly failed_cells: readonly {
    readonly persona_slug: string
    readonly variant_key: string
    readonly draw: number
    readonly reason: string
  }[]
}

export interface Tournament extends Judged {
  readonly criteria: string
  readonly outcome: "leader" | "equal" | "undecided"
  readonly leader_key: string
  readonly rounds: number
  readonly skipped_pairs: number
  readonly comparisons_to_decision: number
  readonly flip_rate: number | null
  readonly note: string
  readonly ranking: readonly {
    readonly variant_key: string
    readonly rank: number
    readonly strength: number
    readonly low: number
    readonly high: number
    readonly score: number
    readonly comparisons: number
    readonly represents: readonly string[]
  }[]
}

export interface Report {
  readonly experiment: Experiment
  readonly summary: readonly {
    readonly variant_key: string
    readonly panel_score: number | null
    readonly panel_rank: number | null
    readonly tournament_strength: number | null
    readonly tournament_rank: number | null
    readonly feedback: number
    readonly conversion_rate: number | null
  }[]
  readonly panel: Panel | null
  readonly tournament: Tournament | null
  readonly feedback: readonly {
    readonly observation_id: string
    readonly variant_key: string
    readonly judge_slug: string
    readonly feedback: string
    readonly image_bucket_key: string
    readonly at: string
  }[]
  readonly live: LiveSection | null
}

export const share = (value: number | null) => (value === null ? "–" : formatShare(value))
export const score = (value: number | null) => (value === null ? "–" : value.toFixed(2))
export const between = (low: number | null, high: number | null, write: (value: number) => string) =>
  low === null || high === null ? "–" : `${write(low)} to ${write(high)}`
