// Results of the newest panel and the newest tournament.
import { Nothing, Time, UntrustedText } from "#console"
import { panelColumns, panelRows, personaColumns, strengthRows, tournamentColumns } from "../report/columns.ts"
import { strengthText } from "../report/numbers.ts"
import { answersText, outcomeText, panelText, roundsText } from "../report/sentences.ts"
import { Intervals } from "./intervals.tsx"
import { EvidenceTable, type Panel, Said, type Tournament } from "./report.tsx"

export function PanelSection({ panel }: { readonly panel: Panel | null }) {
  if (panel === null) return <Nothing>No panel has ended.</Nothing>
  const { judge_slug, at, ranking, kill_list, persona_scores, failed_cells } = panel
  return (
    <>
      <p>{panelText(panel)}</p>
      <p class="about">
        <UntrustedText text={judge_slug} />, <Time value={at} />. {answersText(panel)}
      </p>
      <Intervals
        label="Panel score of each variant, with its interval over personas"
        rows={panelRows(ranking)}
        format={(value) => value.toFixed(1)}
        from={1}
        to={5}
      />
      <EvidenceTable label="Ranking of the panel" rows={ranking} columns={panelColumns} />
      {kill_list.length > 0 && <h3>To be dropped</h3>}
      {kill_list.map(({ variant_key, reason }) => (
        <Said key={variant_key} variant={variant_key} text={reason} />
      ))}
      <details>
        <summary>By persona</summary>
        <EvidenceTable label="Scores by persona" rows={persona_scores} columns={personaColumns} />
        {failed_cells.map(({ persona_slug, variant_key, draw, reason }) => (
          <Said key={`${persona_slug} ${variant_key} ${draw}`} variant={variant_key} text={reason}>
            {persona_slug}, draw {draw}, failed
          </Said>
        ))}
      </details>
    </>
  )
}

export function TournamentSection({ tournament }: { readonly tournament: Tournament | null }) {
  if (tournament === null) return <Nothing>No tournament has ended.</Nothing>
  const { criteria, judge_slug, at, ranking } = tournament
  return (
    <>
      <p>{outcomeText(tournament)}</p>
      <blockquote class="said">
        <UntrustedText text={criteria} isParagraph />
      </blockquote>
      <p class="about">
        <UntrustedText text={judge_slug} />, <Time value={at} />. <UntrustedText text={roundsText(tournament)} />
      </p>
      <Intervals
        label="Strength of each variant, with its interval; 0 is the mean"
        rows={strengthRows(ranking)}
        format={strengthText}
        from={0}
      />
      <EvidenceTable label="Ranking of the tournament" rows={ranking} columns={tournamentColumns} />
    </>
  )
}
