// What visitors of pages did, as pictures; each leads to the SQL behind it.
import { useSignal } from "@preact/signals"
import { Answered, FilterBar, hrefOf, mayCall, query, useAnswer, useRows } from "#console"
import { AsOf, Card, days, daysAsked } from "./picture-card.tsx"
import { questionsOf } from "./questions.ts"

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

/** Of the page with this id, or of all. */
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
