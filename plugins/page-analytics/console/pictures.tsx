// What visitors of pages did, as pictures; each leads to the SQL behind it.
import { useSignal } from "@preact/signals"
import { Ago, Answered, FilterBar, hrefOf, mayCall, query, useAnswer } from "#console"
import { type Question, questionsOf } from "./questions.ts"
import { Picture, type Result } from "./result.tsx"

interface Status {
  readonly enabled: boolean
  readonly as_of: string | null
  readonly rows: number
}

interface Page {
  readonly id: string
  readonly title: string
}

const spans = ["7", "30", "90", "365"]

export default function Pictures() {
  const { days = "30", page = "" } = query()
  const now = useSignal(Date.now())
  const status = useAnswer<Status>("page_analytics.status", {}, { everyMs: 30_000 })
  const questions = questionsOf(Number(days) || 30, page, now.value)
  const pages = useAnswer<{ pages: readonly Page[] }>(mayCall("pages.list") ? "pages.list" : undefined, { limit: 200 })
  const titles = (pages.answer?.pages ?? []).map(({ id, title }) => [id, title] as const)
  return (
    <>
      <h1>Analytics</h1>
      <Answered of={status}>
        {({ enabled, as_of, rows }) => (
          <p class="about">
            {enabled ? `${rows.toLocaleString("en")} events of pages, ` : "No page is published that collects events. "}
            {enabled && (
              <>
                as of <Ago value={as_of} />.
              </>
            )}{" "}
            <a href={hrefOf(["page_analytics", "query"])}>Ask in SQL</a> <a href={hrefOf(["page_analytics", "reports"])}>Reports</a>
          </p>
        )}
      </Answered>
      <FilterBar
        filters={[
          { name: "days", choices: spans, otherwise: "30" },
          mayCall("pages.list") ? { name: "page", choices: titles } : { name: "page", label: "page, by its id" },
        ]}
      />
      <div class="cards">
        {questions.map((question) => (
          <Card key={question.title} question={question} />
        ))}
      </div>
    </>
  )
}

function Card({ question: { title, sql, kind, shares = [] } }: { readonly question: Question }) {
  const answer = useAnswer<Result>("page_analytics.query", { query: sql })
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
