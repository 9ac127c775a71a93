// The organization's pipelines, with their events of the last hour.
import {
  Answered,
  FilterBar,
  formatNumber,
  hrefOf,
  mayCall,
  NextPage,
  Nothing,
  type Output,
  query,
  SameAs,
  Table,
  Time,
  UntrustedText,
  useAnswer,
} from "#console"
import { State, states } from "./pipeline.tsx"

type Listed = Output<"event_pipelines.list">["event_pipelines"][number]

const everyMs = 10_000
const sources = ["browser_form", "third_party_webhook", "custom_http", "internal", "inbound_email"]

export default function Pipelines() {
  const { state, source_kind, cursor } = query()
  const input = { ...(state && { state }), ...(source_kind && { source_kind }), ...(cursor && { cursor }), limit: 100 }
  const listed = useAnswer("event_pipelines.list", input)
  const { answer } = useAnswer(mayCall("event_pipelines.activity") ? "event_pipelines.activity" : undefined, {}, { everyMs })
  const lately = new Map(answer?.pipelines.map((one) => [one.slug, one]))
  const count = (of: "accepted" | "rejected" | "failed") => ({
    name: of,
    isNumber: true,
    show: ({ slug }: Listed) => (answer ? formatNumber(lately.get(slug)?.[of] ?? 0) : ""),
  })
  return (
    <>
      <h1>Pipelines</h1>
      <FilterBar
        filters={[
          { name: "state", choices: states },
          { name: "source_kind", label: "source", choices: sources },
        ]}
      />
      {mayCall("event_pipelines.create") && (
        <p>
          <a href="/console/new-pipeline">New pipeline</a>
        </p>
      )}
      <Answered of={listed}>
        {({ event_pipelines: pipelines, next_cursor }) => (
          <>
            {pipelines.length === 0 ? (
              <Nothing>
                {state || source_kind ? "No pipeline is like this." : "There is none yet. A pipeline takes events and acts on them."}
              </Nothing>
            ) : (
              <>
                <p class="about">Counts are of the last hour.</p>
                <Table
                  label="Pipelines"
                  rows={pipelines}
                  keyOf={({ id }) => id}
                  columns={[
                    {
                      name: "name",
                      show: ({ slug, name }) => (
                        <a href={hrefOf(["event_pipelines", slug])}>
                          <UntrustedText text={name} />
                        </a>
                      ),
                    },
                    { name: "state", show: (one) => <State state={one.state} /> },
                    { name: "source", show: (one) => one.source_kind.replaceAll("_", " ") },
                    count("accepted"),
                    count("rejected"),
                    count("failed"),
                    {
                      name: "last event",
                      show: ({ slug }) => {
                        const last = lately.get(slug)?.last_at
                        return last ? <Time value={last} /> : answer ? <span class="about">none</span> : ""
                      },
                    },
                  ]}
                />
              </>
            )}
            <NextPage cursor={next_cursor} />
          </>
        )}
      </Answered>
      <SameAs name="event_pipelines.list" input={input} />
    </>
  )
}
