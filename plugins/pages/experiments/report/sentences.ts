// Sentences of the report, shared by the exported page and the console.
import { percentText, plural } from "./numbers.ts"
import type { LiveSection, Report } from "./resource.ts"

type Panel = NonNullable<Report["panel"]>
type Tournament = NonNullable<Report["tournament"]>

/** Returns a verdict or a cause as words. */
export function words(name: string): string {
  return name.replaceAll("_", " ")
}

export function sourceText(source: LiveSection["source"]): string {
  return source === "ledger" ? "As the ledger has it" : "Counted"
}

export function pValueText(value: number): string {
  return `p = ${value.toPrecision(2)}`
}

export function panelText({ personas }: Panel): string {
  const readers = plural(personas.length, "simulated person", "simulated people")
  return `${readers} read the variants: how likely each would act, from 1 (certainly not) to 5 (certainly).`
}

export function answersText(panel: Panel): string {
  return `${plural(panel.cells, "answer")}, ${panel.failed_cells.length} failed. ${notesOf(panel)}`
}

export function outcomeText({ outcome, leader_key, comparisons_to_decision }: Tournament): string {
  if (outcome === "leader") return `${leader_key} is proven to beat each rival.`
  if (outcome === "equal") return "The variants are as good as equal."
  return `Undecided; about ${plural(comparisons_to_decision, "more comparison")} would decide.`
}

export function roundsText(tournament: Tournament): string {
  const { rounds, skipped_pairs, position_effect, flip_rate, note } = tournament
  const seats =
    position_effect && flip_rate !== null
      ? ` The page shown first won ${percentText(position_effect.share_of_first)} of the time; the verdict changed with the seats in ${percentText(flip_rate)} of pairs.`
      : ""
  return `${plural(rounds, "pair")} judged in both seats, ${skipped_pairs} of them in vain.${seats} ${notesOf(tournament)} ${note}`
}

const readFrom = {
  browser: "Pages were read as the browser rendered them.",
  html: "Pages were read from their HTML, scripts not run.",
  mixed: "Some pages were read as the browser rendered them, others from their HTML.",
  unknown: "",
}

function notesOf({ text_from, corrected, earlier_runs }: Panel | Tournament): string {
  const parts = [
    readFrom[text_from],
    corrected > 0 && `${plural(corrected, "value")} corrected by a person.`,
    earlier_runs > 0 && `${plural(earlier_runs, "earlier run")} on the ledger.`,
  ]
  return parts.filter(Boolean).join(" ")
}
