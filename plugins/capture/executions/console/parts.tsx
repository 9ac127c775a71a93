// Sections of an event's page: payload, verification, transform, reply and linked events.
import { Badge, Facts, hrefOf, laidOut, mayCall, type Output, parseEvent, Table, useAnswer, visible } from "#console"
import { EventTable } from "./event.tsx"
import { Marked, Stranger } from "./texts.tsx"

/** A step of the complete event record, as in the API's response. */
export type Step = Execution["steps"][string]

export type Execution = Output<"events.get">

type Payload = Output<"event_pipelines.get_payload">

export function CameIn({ payload, execution }: { readonly payload: Payload | undefined; readonly execution: Execution }) {
  const text = payload?.body ?? execution.payload_preview
  const query = Object.entries(payload?.query ?? {})
  return (
    <section aria-labelledby="came-in">
      <h2 id="came-in">What came in</h2>
      {text === "" ? (
        <p class="about">Its payload is not stored, or not for your role.</p>
      ) : (
        <Stranger label="Payload" text={laidOut(text)} />
      )}
      {!payload && text !== "" && <p class="about">The beginning; the whole payload is not stored.</p>}
      {payload && (
        <details>
          <summary>Headers{query.length > 0 && " and query"}</summary>
          <Facts of={[...Object.entries(payload.headers), ...query].map(([name, value]) => [visible(name), visible(String(value))])} />
        </details>
      )}
      {execution.envelope !== null && (
        <details>
          <summary>Envelope</summary>
          <Stranger label="Envelope" text={JSON.stringify(execution.envelope, null, 2)} />
        </details>
      )}
    </section>
  )
}

export function Verified({ execution: { verdict, dedupe, schema_errors, warnings } }: { readonly execution: Execution }) {
  const facts: (readonly [string, preact.ComponentChildren])[] = [
    ["verification", <Badge key="ok" tone={verdict.ok ? "good" : "bad"}>{`${verdict.ok ? "passed" : "refused"}: ${verdict.mode}`}</Badge>],
  ]
  if (!verdict.ok) facts.push([verdict.cause, visible(verdict.message)])
  if (verdict.secret_id) facts.push(["secret", <code key="secret">{verdict.secret_id}</code>])
  if (verdict.event_id) facts.push(["sender's id", visible(verdict.event_id)])
  if (verdict.event_type) facts.push(["sender's type", visible(verdict.event_type)])
  if (dedupe) facts.push(["repeats by", `${visible(dedupe.key)}: ${dedupe.outcome}`])
  for (const { pointer, message } of schema_errors) facts.push([`schema ${visible(pointer)}`, visible(message)])
  for (const { pointer, message } of warnings) facts.push([`dropped ${visible(pointer)}`, visible(message)])
  return (
    <section aria-labelledby="verified">
      <h2 id="verified">How it was verified</h2>
      <Facts of={facts} />
    </section>
  )
}

export function Transformed({
  payload,
  execution: { transformed },
}: {
  readonly payload: Payload | undefined
  readonly execution: Execution
}) {
  const input = payload && parseEvent(payload.body)
  if (transformed === null || input === undefined) return null
  const isSame = JSON.stringify(input) === JSON.stringify(transformed)
  return (
    <section aria-labelledby="transformed">
      <h2 id="transformed">Transform</h2>
      {isSame ? (
        <p class="about">It went on as it came.</p>
      ) : (
        <div class="split">
          <div>
            <h3>Input</h3>
            <Marked label="Input of the transform" value={input} beside={transformed} side="before" />
          </div>
          <div>
            <h3>Output</h3>
            <Marked label="Output of the transform" value={transformed} beside={input} side="after" />
          </div>
        </div>
      )}
    </section>
  )
}

/** Log lines of the transform. */
export function Logged({ execution: { logs } }: { readonly execution: Execution }) {
  if (logs.length === 0) return null
  return (
    <section aria-labelledby="logged">
      <h2 id="logged">Log</h2>
      <Stranger label="Log" text={logs.map(({ level, text }) => `${level}: ${text}`).join("\n")} />
    </section>
  )
}

export function Replied({ execution: { response } }: { readonly execution: Execution }) {
  return (
    <section aria-labelledby="replied">
      <h2 id="replied">Reply</h2>
      {response === null ? (
        <p class="about">None was sent.</p>
      ) : (
        <>
          <p>
            <Badge tone={response.status < 400 ? "good" : "bad"}>{response.status}</Badge>
          </p>
          {response.body !== "" && <Stranger label="Reply" text={laidOut(response.body)} />}
        </>
      )}
    </section>
  )
}

export function Rows({ execution: { rows } }: { readonly execution: Execution }) {
  if (rows.length === 0) return null
  return (
    <section aria-labelledby="rows">
      <h2 id="rows">Rows</h2>
      <Table
        label="Rows"
        rows={rows}
        keyOf={({ row_id }, index) => `${row_id} ${index}`}
        columns={[
          { name: "step", show: ({ step }) => step },
          { name: "dataset", show: ({ dataset }) => <a href={hrefOf(["datasets", dataset])}>{dataset}</a> },
          {
            name: "row",
            show: ({ dataset, row_id }) => (
              <a href={hrefOf(["datasets", dataset], { filter: JSON.stringify({ id: row_id }), row: row_id })}>{row_id}</a>
            ),
          },
        ]}
      />
    </section>
  )
}

/** Replays of the event, and the repeats that a search finds. */
export function Linked({ id }: { readonly id: string }) {
  const listed = useAnswer("events.list_replays", { id })
  const found = useAnswer(mayCall("events.find") ? "events.find" : undefined, { text: id })
  const { events: replays = [], next_cursor = "" } = listed.answer ?? {}
  const repeats = found.answer?.events.filter(({ repeat_of }) => repeat_of === id) ?? []
  if (replays.length + repeats.length === 0) return null
  return (
    <section aria-labelledby="linked">
      <h2 id="linked">Its replays and repeats</h2>
      <EventTable label="Replays and repeats" events={[...replays, ...repeats]} />
      {next_cursor !== "" && <p class="about">There are older replays.</p>}
    </section>
  )
}
