// Pictures of visitors' actions on pages. Each links to its SQL.
import { useSignal } from "@preact/signals"
import { Ago, Answered, type Filter, FilterBar, hrefOf, mayCall, query, useAnswer, useRows } from "#console"
import { type Question, questionsOf } from "./questions.ts"
import { Picture } from "./result.tsx"

export default function Pictures() {
  const { page = "" } = query()
  const mayName = mayCall("pages.list") && mayCall("pages.get")
  const pages = useRows(mayName ? "pages.list" : undefined)
  const suggestions = pages.map(({ slug, title }) => [String(slug), String(title)] as const)
  const named = useAnswer(mayName && page !== "" ? "pages.get" : undefined, { slug: page })
  return (
    <>
      <h1>Analytics</h1>
      <p class="about">
        <AsOf /> <a href={hrefOf(["page_analytics", "query"])}>Ask in SQL</a> <a href={hrefOf(["page_analytics", "reports"])}>Reports</a>
      </p>
      <FilterBar
        filters={[days, mayName ? { name: "page", suggestions, placeholder: "any" } : { name: "page", label: "page, by its id" }]}
      />
      {mayName && page !== "" ? <Answered of={named}>{({ id }) => <Cards page={id} />}</Answered> : <Cards page={page} />}
    </>
  )
}

/** Pictures of the page with this id, or of all pages. */
function Cards({ page }: { readonly page: string }) {
  const now = useSignal(Date.now())
  return (
    <div class="cards">
      {questionsOf(daysAsked(), page, now.value).map((question) => (
        <Card key={question.title} question={question} />
      ))}
    </div>
  )
}

const otherwise = "30"

/** One picture with a link to its SQL, its number of days and its freshness. */
export const days: Filter = { name: "days", choices: ["7", otherwise, "90", "365"], otherwise }

export function daysAsked(): number {
  return Number(query()["days"]) || Number(otherwise)
}

/** Number of events, and the time of the copy. */
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
