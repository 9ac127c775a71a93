// Analytics on a page's own screen: figures and pictures of visitors' actions.
import { useSignal } from "@preact/signals"
import { Answered, Figure, FilterBar, formatDuration, formatShare, hrefOf, type PartProps, type Tone, useAnswer } from "#console"
import { AsOf, Card, days, daysAsked } from "./pictures.tsx"
import { figuresOf, questionsOf } from "./questions.ts"

/** Up to the first value is good, above the second value is poor. */
const bounds: Readonly<Record<string, readonly [number, number]>> = { LCP: [2_500, 4_000], INP: [200, 500], CLS: [0.1, 0.25] }

export default function OfPage({ subject }: PartProps) {
  const now = useSignal(Date.now())
  const page = String(subject["id"])
  const sql = figuresOf(daysAsked(), page, now.value)
  const answer = useAnswer("page_analytics.query", { query: sql })
  return (
    <>
      <FilterBar filters={[days]} />
      <p class="about">
        <AsOf /> <a href={hrefOf(["page_analytics", "query"], { sql })}>SQL of these figures</a>
      </p>
      <Answered of={answer}>
        {({ columns, rows: [row = []] }) => <Figures of={new Map(columns.map((name, at) => [name, row[at]]))} />}
      </Answered>
      <div class="cards">
        {questionsOf(daysAsked(), page, now.value).map((question) => (
          <Card key={question.title} question={question} />
        ))}
      </div>
    </>
  )
}

function Figures({ of }: { readonly of: ReadonlyMap<string, unknown> }) {
  const number = (name: string) => Number(of.get(name) ?? 0)
  return (
    <div class="figures">
      <Figure label="visitors" value={number("visitors")} />
      <Figure label="leads" value={number("leads")} />
      {number("leads without a view") > 0 && <Figure label="leads without a view" value={number("leads without a view")} />}
      <Figure label="of visitors became leads" value={formatShare(number("conversion"))} />
      {Object.entries(bounds).map(([name, [good, poor]]) => {
        const value = of.get(name)
        const isKnown = typeof value === "number"
        const tone: Tone = !isKnown ? "plain" : value <= good ? "good" : value <= poor ? "warning" : "bad"
        const text = !isKnown ? "none" : name === "CLS" ? value.toFixed(2) : formatDuration(value)
        return <Figure key={name} label={`${name} of three in four`} value={text} tone={tone} />
      })}
    </div>
  )
}
