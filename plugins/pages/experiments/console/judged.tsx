// What the newest panel and the newest tournament say.
import { Foreign, formatNumber, Nothing, Table, Time } from "#console"
import { Intervals } from "./intervals.tsx"
import { between, type Panel, score, share, type Tournament } from "./report.ts"
import { Said } from "./said.tsx"

export function PanelSection({ panel }: { readonly panel: Panel | null }) {
  if (panel === null) return <Nothing>No panel has ended.</Nothing>
  const { personas, judge_slug, at, cells, ranking, kill_list, persona_scores, failed_cells } = panel
  return (
    <>
      <p>How likely {formatNumber(personas.length)} simulated people would act, from 1 (certainly not) to 5 (certainly).</p>
      <p class="about">
        <Foreign text={judge_slug} />, <Time value={at} />. {formatNumber(cells)} answers, {failed_cells.length} failed. {noteOf(panel)}
      </p>
      <Intervals
        label="Panel score of each variant, with its interval over personas"
        rows={ranking.map(({ variant_key, score: value, interval }) => ({
          label: variant_key,
          value,
          low: interval?.low ?? null,
          high: interval?.high ?? null,
        }))}
        format={(value) => value.toFixed(1)}
        from={1}
        to={5}
      />
      <Table
        label="Ranking of the panel"
        rows={ranking}
        keyOf={({ variant_key }) => variant_key}
        columns={[
          { name: "rank", isNumber: true, show: ({ rank, score: value }) => (value === null ? "–" : rank) },
          { name: "variant", show: ({ variant_key }) => <code>{variant_key}</code> },
          { name: "score", isNumber: true, show: ({ score: value }) => score(value) },
          { name: "interval", isNumber: true, show: ({ interval }) => between(interval?.low ?? null, interval?.high ?? null, score) },
        ]}
      />
      {kill_list.length > 0 && <h3>To be dropped</h3>}
      {kill_list.map(({ variant_key, reason }) => (
        <Said key={variant_key} variant={variant_key} text={reason} />
      ))}
      <details>
        <summary>By persona</summary>
        <Table
          label="Scores by persona"
          rows={persona_scores}
          keyOf={({ persona_slug, variant_key }) => `${persona_slug} ${variant_key}`}
          columns={[
            { name: "persona", show: ({ persona_slug }) => <code>{persona_slug}</code> },
            { name: "variant", show: ({ variant_key }) => <code>{variant_key}</code> },
            { name: "score", isNumber: true, show: ({ score: value }) => score(value) },
            { name: "draws", isNumber: true, show: ({ draws }) => draws },
          ]}
        />
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
  const { criteria, judge_slug, at, rounds, skipped_pairs, flip_rate, note, ranking } = tournament
  return (
    <>
      <p>{outcomeOf(tournament)}</p>
      <blockquote class="said">
        <Foreign text={criteria} isParagraph />
      </blockquote>
      <p class="about">
        <Foreign text={judge_slug} />, <Time value={at} />. {formatNumber(rounds)} pairs judged in both seats, {skipped_pairs} of them in
        vain.
        {flip_rate !== null && ` The verdict changed with the seats in ${share(flip_rate)} of pairs.`} {noteOf(tournament)}{" "}
        <Foreign text={note} />
      </p>
      <Intervals
        label="Strength of each variant, with its interval; 0 is the mean"
        rows={ranking.map(({ variant_key, strength, low, high }) => ({ label: variant_key, value: strength, low, high }))}
        format={score}
        from={0}
      />
      <Table
        label="Ranking of the tournament"
        rows={ranking}
        keyOf={({ variant_key }) => variant_key}
        columns={[
          { name: "rank", isNumber: true, show: ({ rank }) => rank },
          { name: "variant", show: ({ represents }) => <code>{represents.join(", ")}</code> },
          { name: "strength", isNumber: true, show: ({ strength }) => score(strength) },
          { name: "interval", isNumber: true, show: ({ low, high }) => between(low, high, score) },
          { name: "win rate expected", isNumber: true, show: ({ score: expected }) => share(expected) },
          { name: "comparisons", isNumber: true, show: ({ comparisons }) => formatNumber(comparisons) },
        ]}
      />
    </>
  )
}

function outcomeOf({ outcome, leader_key, comparisons_to_decision }: Tournament): string {
  if (outcome === "leader") return `${leader_key} is proven to beat each rival.`
  if (outcome === "equal") return "The variants are as good as equal."
  return `Undecided; about ${formatNumber(comparisons_to_decision)} more comparisons would decide.`
}

function noteOf({ corrected, earlier_runs }: Panel | Tournament): string {
  const notes = [
    corrected > 0 && `Values corrected by a person: ${corrected}.`,
    earlier_runs > 0 && `Earlier runs on the ledger: ${earlier_runs}.`,
  ]
  return notes.filter(Boolean).join(" ")
}
