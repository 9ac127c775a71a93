// An experiment's report in the console: types, and tones of verdicts.
import type { Output, Tone } from "#console"

export type Report = Output<"experiments.report">
export type Experiment = Report["experiment"]
export type LiveSection = NonNullable<Report["live"]>
export type Panel = NonNullable<Report["panel"]>
export type Tournament = NonNullable<Report["tournament"]>

export const statusTones: Readonly<Record<Experiment["status"], Tone>> = {
  draft: "plain",
  running: "good",
  decided: "plain",
  archived: "plain",
}

export const verdictTones: Readonly<Record<string, Tone>> = {
  better: "good",
  control: "good",
  not_harmed: "good",
  as_expected: "good",
  worse: "bad",
  harmed: "bad",
  alarm: "bad",
  sample_ratio_mismatch: "bad",
}
