// Replay plans, newest first, and a form that creates a plan from a filter.
import "./events.css"
import {
  Answered,
  Badge,
  formatNumber,
  go,
  hrefOf,
  hrefWith,
  mayCall,
  Nothing,
  OperationForm,
  query,
  SameAs,
  Table,
  Time,
  useAnswer,
} from "#console"
import { filterValue, type Plan, replayedCount, tones, usePlanNews } from "./plan.ts"

export default function Plans() {
  const { new: isNew, cursor = "", ...known } = query()
  const input = cursor === "" ? {} : { cursor }
  const listed = useAnswer("replay_plans.list", input)
  usePlanNews(listed.reload)
  return (
    <>
      <h1>Replay plans</h1>
      {isNew === "yes" ? (
        <OperationForm name="replay_plans.create" known={known} onDone={({ id }) => go(hrefOf(["replay_plans", String(id)]))} />
      ) : (
        mayCall("replay_plans.create") && (
          <p>
            <a href={hrefWith({ new: "yes" })}>Make a plan</a>
          </p>
        )
      )}
      <Answered of={listed}>
        {({ replay_plans, next_cursor }) => (
          <>
            {replay_plans.length === 0 ? (
              <Nothing>A plan runs events that came in through the pipeline as it is now: dry first, and then in earnest.</Nothing>
            ) : (
              <Table
                label="Replay plans"
                rows={replay_plans}
                keyOf={({ id }) => id}
                columns={[
                  {
                    name: "made",
                    show: ({ id, created_at }) => (
                      <a href={hrefOf(["replay_plans", id])}>
                        <Time value={created_at} />
                      </a>
                    ),
                  },
                  { name: "pipeline", show: ({ pipeline_slug }) => pipeline_slug },
                  { name: "filter", show: ({ filter }) => filterText(filter) },
                  { name: "state", show: ({ state }) => <Badge tone={tones[state]}>{state}</Badge> },
                  { name: "events", isNumber: true, show: ({ count }) => formatNumber(count) },
                  { name: "rehearsed", isNumber: true, show: ({ rehearsed }) => formatNumber(rehearsed) },
                  { name: "replayed", isNumber: true, show: (plan) => formatNumber(replayedCount(plan)) },
                ]}
              />
            )}
            {next_cursor !== "" && (
              <p>
                <a href={hrefWith({ cursor: next_cursor })}>Older</a>
              </p>
            )}
          </>
        )}
      </Answered>
      <SameAs name="replay_plans.list" input={input} />
    </>
  )
}

function filterText(filter: Plan["filter"]): string {
  return Object.entries(filter)
    .map(([name, value]) => `${name} ${filterValue(name, value)}`)
    .join(", ")
}
