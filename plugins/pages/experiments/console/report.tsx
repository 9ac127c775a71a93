// A table of the report in the console, with the columns of the exported page.

import type { ComponentChildren } from "preact"
import { type Column as ConsoleColumn, type Output, Table, type Tone, UntrustedText } from "#console"
import type { Column } from "../report/columns.ts"
import "./experiments.css"

interface EvidenceTableArgs<T> {
  readonly label: string
  readonly columns: readonly Column<T>[]
  readonly rows: readonly T[]
  /** Columns only in the console. */
  readonly more?: readonly ConsoleColumn<T>[]
}

export function EvidenceTable<T>({ label, columns, rows, more = [] }: EvidenceTableArgs<T>) {
  const shared = columns.map(({ title, text, isKey, isNumber = false }) => ({
    name: title.toLowerCase(),
    isNumber,
    show: (row: T) => (isKey ? <code>{text(row)}</code> : text(row)),
  }))
  const keys = columns.filter(({ isKey }) => isKey)
  return <Table label={label} rows={rows} keyOf={(row) => keys.map(({ text }) => text(row)).join(" ")} columns={[...shared, ...more]} />
}

interface SaidArgs {
  readonly variant: string
  readonly text: string
  readonly children?: ComponentChildren
}

/** A verbatim quote about a variant from a person or model. */
export function Said({ variant, text, children }: SaidArgs) {
  return (
    <blockquote class="said">
      <p class="about">
        {variant} {children}
      </p>
      <UntrustedText text={text} isParagraph />
    </blockquote>
  )
}

export type Report = Output<"experiments.report">
export type Experiment = Report["experiment"]
export type LiveSection = NonNullable<Report["live"]>
export type Panel = NonNullable<Report["panel"]>
export type Tournament = NonNullable<Report["tournament"]>

/** Report of an experiment in the console: types, and tones of verdicts. */
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
