// What the newest panel says, read from its cells on the ledger, corrections included. Pure.
import { type CountedObservation, newest } from "../ledger-reading.ts"
import { cellOf, isPanelCheck, panelRanking } from "../panel/ranking.ts"

/** Undefined without a panel that ended. */
export function panelSection(observations: readonly CountedObservation[]) {
  const ends = observations.filter(isPanelCheck)
  const end = newest(ends)
  if (!end) return undefined
  const cells = observations.filter(({ kind, run_id }) => kind === "panel" && run_id === end.run_id)
  const said = cells.map(cellOf)
  const inOrder = listedIn(end, "ranking", "variant_key")
  const variants = inOrder.length > 0 ? inOrder : [...new Set(said.map(({ variant }) => variant))]
  const personas = [...new Set([...listedIn(end, "persona_scores", "persona_slug"), ...said.map(({ persona }) => persona)])].sort()
  return {
    run_id: end.run_id ?? "",
    at: end.created_at,
    judge_slug: end.judge_slug,
    personas,
    cells: said.length,
    corrected: cells.filter(({ corrected }) => corrected).length,
    earlier_runs: ends.length - 1,
    text_from: textsFrom(cells.map(({ details }) => details["text_from"])),
    ...panelRanking(said, variants, personas),
  }
}

export type TextsFrom = "browser" | "html" | "mixed" | "unknown"

/** What the pages' texts were read from, over all records. */
export function textsFrom(each: readonly unknown[]): TextsFrom {
  const known = [...new Set(each.filter((one) => one === "browser" || one === "html"))]
  return known.length > 1 ? "mixed" : ((known[0] as TextsFrom | undefined) ?? "unknown")
}

function listedIn({ details }: CountedObservation, list: string, field: string): string[] {
  const items = details[list]
  return Array.isArray(items) ? [...new Set(items.map((item) => String((item as Record<string, unknown>)[field])))] : []
}
