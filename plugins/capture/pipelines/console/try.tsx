// Dry run of an earlier event or a written event.
import { useSignal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import {
  Badge,
  Editor,
  Facts,
  formatTime,
  inBackground,
  laidOut,
  mayCall,
  Nothing,
  Problem,
  parseEvent,
  query,
  SameAs,
  setQuery,
  useAnswer,
  useSubmit,
  visible,
} from "#console"
import type { ViewProps } from "./pipeline.tsx"

type Logs = readonly { readonly level: string; readonly text: string }[]

interface Run {
  readonly verdict: unknown
  readonly schema_errors: readonly { readonly pointer?: string; readonly message?: string }[]
  readonly warnings: readonly { readonly pointer?: string; readonly message?: string }[]
  readonly logs: Logs
  readonly transformed: unknown
  readonly steps: readonly {
    readonly id?: string
    readonly type?: string
    readonly state?: string
    readonly result?: unknown
    readonly error?: unknown
  }[]
  readonly effects: {
    readonly rows: readonly unknown[]
    readonly sends: readonly unknown[]
    readonly broadcasts: readonly unknown[]
    readonly response: unknown
  }
}

interface Kept {
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string | readonly string[]>>
}

export default function Try({ pipeline: { slug } }: ViewProps) {
  const { event = "" } = query()
  const mayRead = mayCall("event_pipelines.get_payload")
  const recent = useAnswer<{ executions: readonly { id: string; received_at: string; status: string }[] }>(
    mayRead ? "event_pipelines.list_executions" : undefined,
    { slug, limit: 50 },
  )
  const kept = useAnswer<Kept>(mayRead && event !== "" ? "event_pipelines.get_payload" : undefined, { slug, id: event })
  const text = useSignal('{\n  "email": "ada@example.com"\n}\n')
  const wrong = useSignal("")
  const { submit, isBusy, answer, error } = useSubmit<Run>("event_pipelines.test")
  const payload = kept.answer
  useEffect(() => {
    // The escaped characters have the same value in JSON.
    if (payload) text.value = visible(`${laidOut(payload.body)}\n`)
  }, [payload])
  const run = async () => {
    const body = parseEvent(text.value)
    wrong.value = body === undefined ? "This is not JSON." : ""
    if (body === undefined) return
    const { headers, query: asked } = payload ?? { headers: undefined, query: {} }
    const first = Object.fromEntries(
      Object.entries(asked).map(([name, value]) => [name, typeof value === "string" ? value : (value[0] ?? "")]),
    )
    await submit({ slug, payload: body, ...(headers && { headers, query: first }) })
  }
  const executions = recent.answer?.executions ?? []
  return (
    <section aria-label="Test">
      <p class="about">A dry run: nothing is written, sent or answered.</p>
      {executions.length > 0 && (
        <div class="field">
          <label for="event">an earlier event</label>
          <select id="event" value={event} onChange={({ currentTarget }) => setQuery({ event: currentTarget.value })}>
            <option value="">none: as it is written below</option>
            {executions.map(({ id, received_at, status }) => (
              <option key={id} value={id}>
                {`${formatTime(received_at)} ${status} ${id.slice(0, 8)}`}
              </option>
            ))}
          </select>
        </div>
      )}
      {kept.problem && <Problem text={kept.problem} />}
      <Editor
        label="Payload"
        language="yaml"
        text={text.value}
        onChange={(next) => {
          text.value = next
        }}
        onRun={() => inBackground(run())}
      />
      <div class="verbs">
        <button type="button" class="primary" aria-disabled={isBusy} onClick={() => inBackground(run())}>
          Run
        </button>
        <kbd>Ctrl Enter</kbd>
      </div>
      {wrong.value !== "" && <Problem text={wrong.value} />}
      {error && <Problem text={error.message} />}
      {error && <Log of={(error.details["logs"] as Logs | undefined) ?? []} />}
      {answer && <Outcome run={answer} />}
      <SameAs name="event_pipelines.test" input={{ slug, payload: parseEvent(text.value) ?? {} }} />
    </section>
  )
}

function Outcome({ run: { schema_errors, warnings, logs, transformed, steps, effects } }: { readonly run: Run }) {
  const { rows, sends, broadcasts, response } = effects
  const facts: (readonly [string, preact.ComponentChildren])[] = [
    ["rows", rows.length],
    ["messages and calls", sends.length],
    ["broadcasts", broadcasts.length],
  ]
  return (
    <section aria-label="Outcome">
      <h2>What it would do</h2>
      <p role="status">
        <Badge tone={schema_errors.length === 0 ? "good" : "bad"}>
          {schema_errors.length === 0 ? "fits the schema" : "does not fit the schema"}
        </Badge>
      </p>
      {[...schema_errors, ...warnings].map(({ pointer = "", message = "" }) => (
        <p key={`${pointer} ${message}`}>
          <code>{pointer || "/"}</code> {message}
        </p>
      ))}
      <Facts of={facts} />
      {steps.length === 0 && <Nothing>No step would run.</Nothing>}
      <Json label="Steps" value={steps} />
      <Json label="Effects" value={{ rows, sends, broadcasts }} />
      <Json label="Reply" value={response} />
      <Json label="Transformed" value={transformed} />
      <Log of={logs} />
    </section>
  )
}

function Log({ of }: { readonly of: Logs }) {
  return of.length > 0 ? <Json label="Log" value={of.map(({ level, text }) => `${level}: ${text}`)} /> : null
}

function Json({ label, value }: { readonly label: string; readonly value: unknown }) {
  return (
    <details open={label === "Steps"}>
      <summary>{label}</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard */}
      <section class="changed" tabIndex={0} aria-label={`${label} as JSON`}>
        <pre dir="ltr">{visible(JSON.stringify(value, null, 2) ?? "")}</pre>
      </section>
    </details>
  )
}
