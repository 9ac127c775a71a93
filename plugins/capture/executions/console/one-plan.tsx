// A replay plan: predicted outcomes in groups, buttons to start, pause and stop, and each event with its replay.
import "./events.css"
import {
  Answered,
  Badge,
  Facts,
  FilterBar,
  formatNumber,
  hrefOf,
  hrefWith,
  Nothing,
  OperationButton,
  query,
  SameAs,
  type ScreenProps,
  Table,
  Time,
  useAnswer,
  visible,
} from "#console"
import { hrefOfEvent, Status } from "./event.tsx"
import { filterValue, type Group, outcomes, type Plan, replayedCount, said, tones, usePlanNews } from "./plan.ts"

interface PlannedEvent {
  readonly execution_id: string
  readonly outcome: string
  readonly detail: string
  readonly replay_id: string | null
  readonly replay_status: string | null
}

export default function PlanScreen({ params: { id = "" } }: ScreenProps) {
  const read = useAnswer("replay_plans.get", { id })
  const { outcome = "", cursor = "" } = query()
  const input = { id, ...(outcome !== "" && { outcome }), ...(cursor !== "" && { cursor }) }
  const events = useAnswer("replay_plans.list_events", input)
  const reload = () => {
    read.reload()
    events.reload()
  }
  usePlanNews(reload, id)
  return (
    <>
      <p>
        <a href={hrefOf(["replay_plans"])}>Replay plans</a>
      </p>
      <Answered of={read}>{(plan) => <Head plan={plan} reload={reload} />}</Answered>
      <h2>Its events</h2>
      <FilterBar filters={[{ name: "outcome", choices: outcomes }]} />
      <Answered of={events}>
        {(page) => (
          <>
            {page.events.length === 0 ? <Nothing>None yet.</Nothing> : <Events events={page.events} />}
            {page.next_cursor !== "" && (
              <p>
                <a href={hrefWith({ cursor: page.next_cursor })}>More</a>
              </p>
            )}
          </>
        )}
      </Answered>
      <SameAs name="replay_plans.list_events" input={input} />
    </>
  )
}

function Head({ plan, reload }: { readonly plan: Plan; readonly reload: () => void }) {
  const { id, pipeline_slug, state, count, rehearsed, replayed, filter, groups } = plan
  const isBegun = replayedCount(plan) > 0 || state === "replaying" || state === "completed"
  const events = count === 1 ? "1 event" : `${formatNumber(count)} events`
  return (
    <>
      <h1>Replay of {pipeline_slug}</h1>
      <p>
        <Badge tone={tones[state]}>{state}</Badge>{" "}
        <span role="status">
          {isBegun
            ? `${formatNumber(replayedCount(plan))} of ${events} replayed.`
            : `${formatNumber(rehearsed)} of ${events} rehearsed; nothing was written or sent.`}
        </span>
      </p>
      <div class="verbs">
        {(state === "rehearsing" || state === "rehearsed") && (
          <OperationButton
            operation="replay_plans.start"
            input={{ id }}
            ask={`Replay ${events} through the pipeline as it is now?`}
            isDangerous
            onDone={reload}
          >
            Replay
          </OperationButton>
        )}
        {(state === "rehearsing" || state === "replaying") && (
          <OperationButton operation="replay_plans.pause" input={{ id }} onDone={reload}>
            Pause
          </OperationButton>
        )}
        {state === "paused" && (
          <OperationButton operation="replay_plans.resume" input={{ id }} onDone={reload}>
            Resume
          </OperationButton>
        )}
        {state !== "completed" && state !== "stopped" && (
          <OperationButton
            operation="replay_plans.stop"
            input={{ id }}
            ask="Stop this plan? What was replayed stays, the rest is left."
            isDangerous
            onDone={reload}
          >
            Stop
          </OperationButton>
        )}
      </div>
      <Facts
        of={[
          [
            "pipeline",
            <a key="pipeline" href={hrefOf(["event_pipelines", pipeline_slug])}>
              {pipeline_slug}
            </a>,
          ],
          ...Object.entries(filter).map(([name, value]) => [name, filterValue(name, value)] as const),
          ["made", <Time key="made" value={plan.created_at} />],
          ...(isBegun ? Object.entries(replayed).map(([name, many]) => [`replays ${name}`, formatNumber(many)] as const) : []),
        ]}
      />
      <h2>What becomes of them</h2>
      {groups.length === 0 ? <Nothing>No event is rehearsed yet.</Nothing> : <Groups groups={groups} />}
    </>
  )
}

function Groups({ groups }: { readonly groups: readonly Group[] }) {
  return (
    <Table
      label="Groups"
      rows={groups}
      keyOf={({ outcome, detail }) => `${outcome} ${detail}`}
      columns={[
        { name: "events", show: (group) => <a href={hrefWith({ outcome: group.outcome, cursor: "" })}>{visible(said(group))}</a> },
        {
          name: "such as",
          show: ({ samples }) => (
            <span class="samples">
              {samples.slice(0, 3).map((id) => (
                <Link key={id} id={id} text={id.slice(-12)} />
              ))}
            </span>
          ),
        },
      ]}
    />
  )
}

function Link({ id, text = id }: { readonly id: string; readonly text?: string }) {
  return (
    <a href={hrefOfEvent(id)} title={id}>
      {text}
    </a>
  )
}

function Events({ events }: { readonly events: readonly PlannedEvent[] }) {
  return (
    <Table
      label="Events of the plan"
      rows={events}
      keyOf={({ execution_id }) => execution_id}
      columns={[
        { name: "event", show: ({ execution_id }) => <Link id={execution_id} /> },
        { name: "rehearsal", show: ({ outcome, detail }) => visible([outcome.replaceAll("_", " "), detail].filter(Boolean).join(": ")) },
        { name: "replay", show: ({ replay_id }) => replay_id !== null && <Link id={replay_id} /> },
        { name: "status", show: ({ replay_status }) => replay_status !== null && <Status status={replay_status} /> },
      ]}
    />
  )
}
