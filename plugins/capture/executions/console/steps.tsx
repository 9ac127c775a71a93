// Stages and steps of an event on one time axis. Each step shows its configuration, its result and its number of attempts.
import { Ago, Badge, Facts, formatDuration, laidOut, query, SameAs, setQuery, type Tone, useAnswer, visible } from "#console"
import type { Execution, Step } from "./parts.tsx"
import { Stranger } from "./texts.tsx"

const stages: readonly (readonly [string, string])[] = [
  ["verify", "verification"],
  ["sandbox", "schema and transform"],
  ["run", "steps up to the reply"],
]
const tones: Readonly<Record<Step["state"], Tone>> = {
  done: "good",
  skipped: "plain",
  failed: "bad",
  pending: "warning",
  running: "warning",
}

interface Bar {
  readonly name: string
  readonly from: number
  readonly ms: number
  readonly isBad: boolean
}

/** Returns bars in sequence. The start of a step is not recorded, so each step's bar begins with its stage. */
function barsOf({ timings, steps }: Execution): Bar[] {
  let from = 0
  let ran = 0
  const bars: Bar[] = []
  for (const [stage, name] of stages) {
    const ms = timings[stage]
    if (ms === undefined) continue
    if (stage === "run") ran = from
    bars.push({ name, from, ms, isBad: false })
    from += ms
  }
  for (const [name, { duration_ms, state }] of Object.entries(steps))
    if (state !== "skipped") bars.push({ name, from: ran, ms: duration_ms, isBad: state === "failed" })
  return bars
}

export function Times({ execution }: { readonly execution: Execution }) {
  const bars = barsOf(execution)
  const end = Math.max(0.001, ...bars.map(({ from, ms }) => from + ms))
  if (bars.length === 0) return null
  const share = (ms: number) => `${(ms / end) * 100}%`
  return (
    <section aria-labelledby="times">
      <h2 id="times">Time</h2>
      <div class="times">
        {bars.map(({ name, from, ms, isBad }) => (
          <div key={name}>
            <span>{name}</span>
            <span class={isBad ? "bar bad" : "bar"} aria-hidden="true">
              <span style={{ left: share(from), width: share(ms) }} />
            </span>
            <span class="number">{formatDuration(ms)}</span>
          </div>
        ))}
      </div>
      <p class="about">The axis ends at {formatDuration(end)}. Bars of steps begin with the stage that runs them.</p>
    </section>
  )
}

/** Returns the open steps from the address. Without them in the address, the failed steps are open. */
function useOpened(steps: Execution["steps"]) {
  const { step } = query()
  const failed = Object.keys(steps).filter((name) => steps[name]?.state === "failed")
  const opened = step === undefined ? failed : step.split(",")
  const toggle = (name: string) => {
    const others = opened.filter((other) => other in steps && other !== name)
    setQuery({ step: [...others, ...(opened.includes(name) ? [] : [name])].join() || "none" })
  }
  return { opened, toggle }
}

export function Steps({ execution: { id, pipeline_slug, revision, steps } }: { readonly execution: Execution }) {
  const { answer } = useAnswer("event_pipelines.get", { slug: pipeline_slug })
  const document = answer?.revision === revision ? answer.pipeline : undefined
  const all = Object.entries(steps)
  const { opened, toggle } = useOpened(steps)
  return (
    <section aria-labelledby="steps">
      <h2 id="steps">Steps</h2>
      {all.length === 0 && <p class="about">It came to no step.</p>}
      {all.map(([name, step]) => (
        <details key={name} open={opened.includes(name)} class="step">
          {/* biome-ignore lint/a11y: a press of a key is a click here */}
          <summary
            onClick={(event) => {
              event.preventDefault()
              toggle(name)
            }}
          >
            <b>{name}</b> <code>{step.type}</code> <Badge tone={tones[step.state]}>{step.state}</Badge>{" "}
            <small>
              {step.attempts === 1 ? "1 attempt" : `${step.attempts} attempts`}, {formatDuration(step.duration_ms)}
            </small>
          </summary>
          <One step={step} told={document?.find((one) => one["id"] === name)} />
        </details>
      ))}
      <SameAs name="event_pipelines.get_execution" input={{ slug: pipeline_slug, id }} />
    </section>
  )
}

function One({
  step: { error, next_at, approval_id, skipped_after, result, state },
  told,
}: {
  readonly step: Step
  readonly told: unknown
}) {
  const facts: (readonly [string, preact.ComponentChildren])[] = []
  if (error) facts.push(["error", visible(`${error.code}: ${error.message}`)])
  if (state === "skipped") facts.push(["skipped", skipped_after ? `after ${skipped_after} failed` : "its condition was not met"])
  if (next_at) facts.push(["next attempt", <Ago key="next" value={next_at} />])
  if (approval_id)
    facts.push([
      "approval",
      <a key="approval" href={`/console/approvals/${encodeURIComponent(approval_id)}`}>
        its approval
      </a>,
    ])
  return (
    <>
      {facts.length > 0 && <Facts of={facts} />}
      <div class="split">
        <div>
          <h3>Input</h3>
          {told === undefined ? (
            <p class="about">The pipeline has another revision by now.</p>
          ) : (
            <Stranger label="Input, as the pipeline's document has it" text={JSON.stringify(told, null, 2)} />
          )}
        </div>
        <div>
          <h3>Result</h3>
          {result === null || result === undefined ? (
            <p class="about">None.</p>
          ) : (
            <Stranger label="Result" text={typeof result === "string" ? laidOut(result) : JSON.stringify(result, null, 2)} />
          )}
        </div>
      </div>
    </>
  )
}
