// The pipeline as a picture from the service, and a table with recent outcomes of each step.
import { Answered, formatNumber, type Output, SameAs, Table, Time, useAnswer } from "#console"
import type { ViewProps } from "./pipeline.tsx"

type Graph = Output<"event_pipelines.graph">

type Step = Graph["steps"][number]

const everyMs = 5_000

export default function Drawn({ pipeline: { slug, revision } }: ViewProps) {
  const read = useAnswer("event_pipelines.graph", { slug }, { everyMs })
  return (
    <section aria-label="Graph" key={revision}>
      <Answered of={read}>
        {(graph) => (
          <>
            <p class="about">
              {graph.since === null ? (
                "No event came in yet."
              ) : (
                <>
                  Of the newest events, since <Time value={graph.since} />: {formatNumber(graph.events.accepted)} accepted,{" "}
                  {formatNumber(graph.events.rejected)} rejected, {formatNumber(graph.events.failed)} failed.
                </>
              )}
            </p>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard */}
            <section class="scroll drawn" tabIndex={0} aria-label="Picture of the steps">
              {/* As an image, the SVG cannot run scripts or load resources. */}
              <img
                alt="The steps and what they wait for; the table below has the same."
                src={`data:image/svg+xml,${encodeURIComponent(graph.svg)}`}
              />
            </section>
            <Steps steps={graph.steps} />
          </>
        )}
      </Answered>
      <SameAs name="event_pipelines.graph" input={{ slug }} />
    </section>
  )
}

function Steps({ steps }: { readonly steps: readonly Step[] }) {
  if (steps.length === 0) return null
  const count = (name: "done" | "skipped" | "failed" | "pending") => ({
    name,
    isNumber: true,
    show: (step: Step) => formatNumber(step[name]),
  })
  return (
    <Table<Step>
      label="Steps"
      rows={steps}
      keyOf={({ id }) => id}
      columns={[
        { name: "step", show: ({ id }) => <code>{id}</code> },
        { name: "does", show: ({ type }) => type },
        { name: "runs", show: ({ side, is_handler }) => `${side.replace("_", " the ")}${is_handler ? ", when a step fails" : ""}` },
        { name: "after", show: ({ needs }) => needs.join(", ") },
        { name: "when it fails", show: ({ on_error }) => on_error },
        count("done"),
        count("skipped"),
        count("failed"),
        count("pending"),
      ]}
    />
  )
}
