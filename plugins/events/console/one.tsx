// One event, one page: from what came in to what was done later.
import "./events.css"
import { Answered, Copy, Facts, go, hrefOf, mayCall, Nothing, OperationButton, query, type ScreenProps, Time, useAnswer } from "#console"
import { type Event, hrefOfEvent, Status } from "./event.tsx"
import type { Execution, Payload } from "./execution.ts"
import { CameIn, Linked, Replied, Rows, Transformed, Verified } from "./parts.tsx"
import { Steps, Times } from "./steps.tsx"
import { visible } from "./visible.ts"

const everyMs = 5_000

export default function EventScreen({ params: { id = "" } }: ScreenProps) {
  const { pipeline = "" } = query()
  return (
    <>
      <p>
        <a href="/console/events">Events</a>
      </p>
      {pipeline === "" ? <Looked key={id} id={id} /> : <One key={id} id={id} slug={pipeline} />}
    </>
  )
}

/** Links of other screens name the event alone: its pipeline is looked for. */
function Looked({ id }: { readonly id: string }) {
  const mayFind = mayCall("events.find")
  const found = useAnswer<{ events: readonly Event[] }>(mayFind ? "events.find" : undefined, { text: id, limit: 50 })
  if (!mayFind) return <Nothing>Open it from the list of events.</Nothing>
  return (
    <Answered of={found}>
      {({ events }) => {
        const event = events.find((one) => one.id === id)
        if (event) return <One id={id} slug={event.pipeline_slug} />
        return <Nothing>No event {id} is kept.</Nothing>
      }}
    </Answered>
  )
}

function One({ id, slug }: { readonly id: string; readonly slug: string }) {
  const read = useAnswer<Execution>("event_pipelines.get_execution", { slug, id }, { everyMs })
  const stored = useAnswer<Payload>(mayCall("event_pipelines.get_payload") ? "event_pipelines.get_payload" : undefined, { slug, id })
  return (
    <Answered of={read}>
      {(execution) => (
        <>
          <h1>Event of {execution.pipeline_slug}</h1>
          <Head execution={execution} reload={read.reload} />
          <CameIn payload={stored.answer} execution={execution} />
          <Verified execution={execution} />
          <Transformed payload={stored.answer} execution={execution} />
          <Times execution={execution} />
          <Replied execution={execution} />
          <Rows execution={execution} />
          <Linked id={id} />
          <Steps execution={execution} />
        </>
      )}
    </Answered>
  )
}

function Head({ execution, reload }: { readonly execution: Execution; readonly reload: () => void }) {
  const { id, pipeline_slug: slug, status, cause, error, is_test, forced, count, first_at, last_at, replay_of, repeat_of } = execution
  const isDead = Object.values(execution.steps).some(({ state }) => state === "failed")
  const link = (other: string) => <a href={hrefOfEvent({ id: other, pipeline_slug: slug })}>{other}</a>
  const facts: (readonly [string, preact.ComponentChildren])[] = [
    ["received", <Time key="received" value={execution.received_at} />],
    ["execution", <code key="id">{id}</code>],
    [
      "pipeline",
      <span key="pipeline">
        <a href={hrefOf(["event_pipelines", slug])}>{slug}</a>, revision {execution.revision}
      </span>,
    ],
  ]
  if (replay_of) facts.push(["replay of", link(replay_of)])
  if (repeat_of) facts.push(["repeat of", link(repeat_of)])
  if (count > 1)
    facts.push([
      "events alike",
      <span key="count">
        {count}, from <Time value={first_at} /> to <Time value={last_at} />
      </span>,
    ])
  return (
    <>
      <p>
        <Status status={status} /> {is_test && "Test. "}
        {forced && "Run by force on a disabled pipeline. "}
        {cause !== "" && <b>{cause}</b>} {error && visible(`${error.step ? `At ${error.step}: ` : ""}${error.message}`)}
      </p>
      <div class="verbs">
        <Copy text={id} name="its id" />
        {execution.verdict.ok && (
          <OperationButton
            operation="event_pipelines.replay_execution"
            input={{ slug, id }}
            ask="Replay this event through the pipeline as it is now?"
            isDangerous
            onDone={({ execution_id }) => go(hrefOfEvent({ id: String(execution_id), pipeline_slug: slug }))}
          >
            Replay
          </OperationButton>
        )}
        {isDead && (
          <OperationButton
            operation="event_pipelines.retry_execution"
            input={{ slug, id }}
            ask="Retry its dead deferred steps?"
            onDone={reload}
          >
            Retry
          </OperationButton>
        )}
      </div>
      <Facts of={facts} />
    </>
  )
}
