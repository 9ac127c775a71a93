// What visitors of pages did, as pictures; each leads to the SQL behind it.
import { useSignal } from "@preact/signals"
import { FilterBar, hrefOf, mayCall, query, useAnswer } from "#console"
import { AsOf, Card, days, daysAsked } from "./picture-card.tsx"
import { questionsOf } from "./questions.ts"

interface Page {
  readonly id: string
  readonly title: string
}

export default function Pictures() {
  const { page = "" } = query()
  const now = useSignal(Date.now())
  const questions = questionsOf(daysAsked(), page, now.value)
  const pages = useAnswer<{ pages: readonly Page[] }>(mayCall("pages.list") ? "pages.list" : undefined, { limit: 200 })
  const titles = (pages.answer?.pages ?? []).map(({ id, title }) => [id, title] as const)
  return (
    <>
      <h1>Analytics</h1>
      <p class="about">
        <AsOf /> <a href={hrefOf(["page_analytics", "query"])}>Ask in SQL</a> <a href={hrefOf(["page_analytics", "reports"])}>Reports</a>
      </p>
      <FilterBar filters={[days, mayCall("pages.list") ? { name: "page", choices: titles } : { name: "page", label: "page, by its id" }]} />
      <div class="cards">
        {questions.map((question) => (
          <Card key={question.title} question={question} />
        ))}
      </div>
    </>
  )
}
