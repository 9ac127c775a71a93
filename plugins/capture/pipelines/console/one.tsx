// One pipeline with views for its graph, document, test, secrets, drift and sending. The address selects the view.
import "./pipelines.css"
import type { ComponentType } from "preact"
import { Answered, Facts, hrefOf, Lazy, mayCall, query, SameAs, type ScreenProps, Tabs, Time, UntrustedText, useAnswer } from "#console"
import { type Pipeline, State, type ViewProps } from "./pipeline.tsx"

export default function One({ params: { slug = "" } }: ScreenProps) {
  const read = useAnswer("event_pipelines.get", { slug })
  return (
    <>
      <p>
        <a href="/console/event_pipelines">Pipelines</a>
      </p>
      <Answered of={read}>
        {(pipeline) => (
          <>
            <h1>
              <UntrustedText text={pipeline.name} />
            </h1>
            <Head pipeline={pipeline} />
            <Views pipeline={pipeline} reload={read.reload} />
          </>
        )}
      </Answered>
      <SameAs name="event_pipelines.get" input={{ slug }} />
    </>
  )
}

function Head({
  pipeline: { slug, state, source_kind, revision, updated_at, write_target_datasets, warnings },
}: {
  readonly pipeline: Pipeline
}) {
  const datasets = write_target_datasets.map((name) => name.slice(name.indexOf(".") + 1))
  const facts: (readonly [string, preact.ComponentChildren])[] = [
    ["state", <State key="state" state={state} />],
    ["source", source_kind.replaceAll("_", " ")],
    [
      "revision",
      <span key="revision">
        {revision}, <Time value={updated_at} />
      </span>,
    ],
  ]
  if (datasets.length > 0)
    facts.push([
      "writes to",
      <span key="datasets">
        {datasets.map((name) => (
          <a key={name} href={hrefOf(["datasets", name])}>
            {name}{" "}
          </a>
        ))}
      </span>,
    ])
  return (
    <>
      <Facts of={facts} />
      {warnings.map((text) => (
        <p key={text} class="problem">
          <UntrustedText text={text} />
        </p>
      ))}
      <p>
        <a href={hrefOf(["events"], { pipeline: slug })}>Its events</a>
      </p>
    </>
  )
}

interface View {
  readonly key: string
  readonly title: string
  readonly needs: string
  /** Only for pipelines with an inbound address. */
  readonly isInbound?: boolean
  readonly load: () => Promise<{ readonly default: ComponentType<ViewProps> }>
}

const views: readonly View[] = [
  { key: "graph", title: "Graph", needs: "event_pipelines.graph", load: () => import("./graph.tsx") },
  { key: "document", title: "Document", needs: "event_pipelines.validate", load: () => import("./document.tsx") },
  { key: "test", title: "Test", needs: "event_pipelines.test", load: () => import("./try.tsx") },
  { key: "drift", title: "Drift", needs: "event_pipelines.drift", load: () => import("./drift.tsx") },
  { key: "secrets", title: "Secrets", needs: "event_pipelines.list_secrets", isInbound: true, load: () => import("./secrets.tsx") },
  { key: "sender", title: "Sending", needs: "auth_modes.list", isInbound: true, load: () => import("./sender.tsx") },
  { key: "send", title: "Send", needs: "event_pipelines.send_event", load: () => import("./send.tsx") },
]

function Views({ pipeline, reload }: ViewProps) {
  const shown = views.filter(({ needs, isInbound }) => mayCall(needs) && (!isInbound || pipeline.inbound_url !== null))
  const { view } = query()
  const current = shown.find(({ key }) => key === view) ?? shown[0]
  return (
    <>
      <Tabs name="view" tabs={shown.map(({ key, title }) => [key, title])} />
      {current && <Lazy key={current.key} load={current.load} props={{ pipeline, reload }} />}
    </>
  )
}
