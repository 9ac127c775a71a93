// Page of one event, from its payload to later deferred work.
import "./events.css"
import { useSignal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import { Answered, Copy, Facts, go, hrefOf, mayCall, OperationButton, type ScreenProps, Time, useAnswer, visible } from "#console"
import { Copies } from "./copies.tsx"
import { hrefOfEvent, Status } from "./event.tsx"
import { CameIn, type Execution, Linked, Logged, Replied, Rows, Transformed, Verified } from "./parts.tsx"
import { Steps, Times } from "./steps.tsx"

const everyMs = 5_000

export default function EventScreen({ params: { id = "" } }: ScreenProps) {
  return (
    <>
      <p>
        <a href="/console/events">Events</a>
      </p>
      <One key={id} id={id} />
    </>
  )
}

/** Returns true if every step has finished. Deferred steps run after the reply. */
function isSettled({ steps }: Execution): boolean {
  return Object.values(steps).every(({ state }) => state !== "pending" && state !== "running")
}

function One({ id }: { readonly id: string }) {
  const isOpen = useSignal(true)
  const read = useAnswer("events.get", { id }, isOpen.value ? { everyMs } : {})
  const isDone = read.answer !== undefined && isSettled(read.answer)
  useEffect(() => {
    isOpen.value = !isDone
  }, [isDone])
  const slug = mayCall("event_pipelines.get_payload") ? read.answer?.pipeline_slug : undefined
  const stored = useAnswer(slug === undefined ? undefined : "event_pipelines.get_payload", { slug, id })
  return (
    <Answered of={read}>
      {(execution) => (
        <>
          <h1>Event of {execution.pipeline_slug}</h1>
          <Head execution={execution} reload={read.reload} />
          <CameIn payload={stored.answer} execution={execution} />
          <Verified execution={execution} />
          <Transformed payload={stored.answer} execution={execution} />
          <Logged execution={execution} />
          <Times execution={execution} />
          <Replied execution={execution} />
          <Rows execution={execution} />
          <Linked id={id} />
          <Copies id={id} />
          <Steps execution={execution} />
        </>
      )}
    </Answered>
  )
}

function Head({ execution, reload }: { readonly execution: Execution; readonly reload: () => void }) {
  const { id, pipeline_slug: slug, status, cause, error, is_test, forced, count, first_at, last_at, replay_of, repeat_of } = execution
  const isDead = Object.values(execution.steps).some(({ state }) => state === "failed")
  const link = (other: string) => <a href={hrefOfEvent(other)}>{other}</a>
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
        {mayCall("event_pipelines.test") && mayCall("event_pipelines.get_payload") && (
          <a class="button" href={hrefOf(["event_pipelines", slug], { view: "test", event: id })}>
            Dry run
          </a>
        )}
        {execution.verdict.ok && (
          <OperationButton
            operation="event_pipelines.replay_execution"
            input={{ slug, id }}
            ask="Replay this event through the pipeline as it is now?"
            isDangerous
            onDone={({ execution_id }) => go(hrefOfEvent(String(execution_id)))}
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
