// Saved reports: named queries, each with a snapshot of its events.
import { Answered, hrefOf, NextPage, Nothing, type Output, query, SameAs, Table, Time, UntrustedText, useAnswer } from "#console"

export type Report = Output<"page_analytics.list_reports">["reports"][number]

export default function Reports() {
  const { cursor = "" } = query()
  const input = cursor === "" ? {} : { cursor }
  const listed = useAnswer("page_analytics.list_reports", input)
  return (
    <>
      <p>
        <a href="/console/page_analytics">Analytics</a>
      </p>
      <h1>Reports</h1>
      <Answered of={listed}>
        {({ reports, next_cursor }) => (
          <>
            {reports.length === 0 ? (
              <Nothing>
                A <a href={hrefOf(["page_analytics", "query"])}>question in SQL</a> can be saved with a name, and with the events that it
                was asked of.
              </Nothing>
            ) : (
              <Table
                label="Reports"
                rows={reports}
                keyOf={({ slug }) => slug}
                columns={[
                  {
                    name: "name",
                    show: ({ slug, name }) => (
                      <a href={hrefOf(["page_analytics", "reports", slug])}>
                        <UntrustedText text={name} />
                      </a>
                    ),
                  },
                  { name: "of events until", show: ({ as_of }) => <Time value={as_of} /> },
                  { name: "saved", show: ({ created_at }) => <Time value={created_at} /> },
                ]}
              />
            )}
            <NextPage cursor={next_cursor} />
          </>
        )}
      </Answered>
      <SameAs name="page_analytics.list_reports" input={input} />
    </>
  )
}
