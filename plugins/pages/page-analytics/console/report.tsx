// One saved report with its saved or current rows. If the saved rows are unavailable, shows the cause.
import {
  Answered,
  Copy,
  go,
  hrefOf,
  OperationButton,
  query,
  SameAs,
  type ScreenProps,
  Tabs,
  Time,
  UntrustedText,
  useAnswer,
  visible,
} from "#console"
import { Found } from "./result.tsx"

export default function ReportScreen({ params }: ScreenProps) {
  const { slug = "" } = params
  const isFresh = query()["rows"] === "fresh"
  const read = useAnswer("page_analytics.get_report", { slug })
  const input = { slug, ...(isFresh ? { fresh: true } : {}) }
  const result = useAnswer("page_analytics.run_report", input)
  return (
    <>
      <p>
        <a href="/console/page_analytics/reports">Reports</a>
      </p>
      <Answered of={read}>
        {({ name, query: sql, as_of, created_at }) => (
          <>
            <h1>
              <UntrustedText text={name} />
            </h1>
            <p class="about">
              Saved <Time value={created_at} />, of events until <Time value={as_of} />.
            </p>
            <div class="verbs">
              <Copy text={location.href} name="link" />
              <a href={hrefOf(["page_analytics", "query"], { sql })}>Change the question</a>
              <OperationButton
                operation="page_analytics.delete_report"
                input={{ slug }}
                ask={`Delete the report ${name}? Its rows cannot be had again.`}
                isDangerous
                onDone={() => go("/console/page_analytics/reports")}
              >
                Delete
              </OperationButton>
            </div>
            <Tabs
              name="rows"
              tabs={[
                ["saved", "As saved"],
                ["fresh", "As of now"],
              ]}
            />
            {result.error?.details.reason === "snapshot_gone" && (
              <p>
                The rows that were saved are gone. <a href={hrefOf(["page_analytics", "reports", slug], { rows: "fresh" })}>As of now</a>
              </p>
            )}
            <Answered of={result}>{(found) => <Found result={found} />}</Answered>
            <details>
              <summary>SQL</summary>
              <pre>{visible(sql)}</pre>
            </details>
          </>
        )}
      </Answered>
      <SameAs name="page_analytics.run_report" input={input} />
    </>
  )
}
