// One picture of what visitors did, with the SQL behind it; of how many days, and as of when.
import { Ago, Answered, type Filter, hrefOf, query, useAnswer } from "#console"
import type { Question } from "./questions.ts"
import { Picture } from "./result.tsx"

const otherwise = "30"

export const days: Filter = { name: "days", choices: ["7", otherwise, "90", "365"], otherwise }

export function daysAsked(): number {
  return Number(query()["days"]) || Number(otherwise)
}

/** How many events there are, and until when. */
export function AsOf() {
  const status = useAnswer("page_analytics.status", {}, { everyMs: 30_000 })
  if (!status.answer) return null
  const { enabled, as_of, rows } = status.answer
  if (!enabled) return <>No page is published that collects events.</>
  return (
    <>
      {rows.toLocaleString("en")} events of pages, as of <Ago value={as_of} />.
    </>
  )
}

export function Card({ question: { title, sql, kind, shares = [] } }: { readonly question: Question }) {
  const answer = useAnswer("page_analytics.query", { query: sql })
  return (
    <section class="card" aria-label={title}>
      <h2>{title}</h2>
      <Answered of={answer}>
        {(result) => <Picture label={result.columns.slice(1).join(", ")} result={result} kind={kind} shares={shares} />}
      </Answered>
      <a href={hrefOf(["page_analytics", "query"], { sql })}>SQL of this picture</a>
    </section>
  )
}
