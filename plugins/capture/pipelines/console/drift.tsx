// Schema drift of a pipeline, with a button that adds the drift to the schema.
import {
  Answered,
  Badge,
  formatNumber,
  formatShare,
  hrefOf,
  inBackground,
  mayCall,
  Nothing,
  type Output,
  Problem,
  SameAs,
  setQuery,
  Table,
  Time,
  useAnswer,
  useSubmit,
  visible,
} from "#console"
import { setDraft } from "./drafts.ts"
import type { ViewProps } from "./pipeline.tsx"
import { textOf, useHelp } from "./text.ts"

type Difference = Report["drift"][number]

type Report = Output<"event_pipelines.drift">

export default function Drift({ pipeline: { slug } }: ViewProps) {
  const read = useAnswer("event_pipelines.drift", { slug })
  return (
    <section aria-label="Drift">
      <Answered of={read}>
        {(report) => (
          <>
            <p class="about">{standOf(report)}</p>
            {report.drift.length === 0 ? (
              <Nothing>
                {report.learning ? "Too few events came to call anything new." : "Events are as they were, and fit the schema."}
              </Nothing>
            ) : (
              <Differences slug={slug} drift={report.drift} />
            )}
            {report.fields.length > 0 && <Fields fields={report.fields} />}
          </>
        )}
      </Answered>
      <SameAs name="event_pipelines.drift" input={{ slug }} />
    </section>
  )
}

function standOf({ events, rejected, sampled, baseline_events, truncated }: Report): string {
  const parts = [
    `${formatNumber(events)} events since the comparison began, ${formatNumber(rejected)} of them rejected for their shape`,
    `${formatNumber(sampled)} were looked at`,
    `${formatNumber(baseline_events)} before are what they are compared with`,
  ]
  return `${parts.join("; ")}.${truncated ? " A bound was met: something may be missing here." : ""}`
}

const kinds: Readonly<Record<string, string>> = {
  new_field: "new field",
  field_gone: "field gone",
  type_changed: "other type",
  enum_grew: "new values",
}

function Differences({ slug, drift }: { readonly slug: string; readonly drift: readonly Difference[] }) {
  return (
    <>
      <Table<Difference>
        label="Differences"
        rows={drift}
        keyOf={({ id }) => id}
        columns={[
          { name: "field", show: ({ path }) => <code>{visible(path)}</code> },
          { name: "is", show: ({ kind, rejected }) => <Badge tone={rejected > 0 ? "bad" : "warning"}>{kinds[kind] ?? kind}</Badge> },
          { name: "what", show: ({ message }) => visible(message) },
          { name: "events", isNumber: true, show: ({ events }) => formatNumber(events) },
          { name: "share", isNumber: true, show: ({ share }) => formatShare(share) },
          { name: "rejected", isNumber: true, show: ({ rejected }) => formatNumber(rejected) },
          { name: "since", show: ({ since }) => <Time value={since} /> },
          {
            name: "such as",
            show: ({ executions }) =>
              executions.slice(-1).map((id) => (
                <a key={id} href={hrefOf(["events", id], { pipeline: slug })}>
                  {id.slice(0, 8)}
                </a>
              )),
          },
        ]}
      />
      {drift.some(({ patch }) => patch.length > 0) && mayCall("event_pipelines.patch_drift") && <TakeIn slug={slug} />}
    </>
  )
}

/** Puts the patched document into the editor. Planning and saving work as for any change. */
function TakeIn({ slug }: { readonly slug: string }) {
  const { schema } = useHelp()
  const { submit, isBusy, error } = useSubmit("event_pipelines.patch_drift", { slug })
  const take = async () => {
    const answer = await submit({ slug })
    if (!answer || !schema) return
    setDraft(slug, await textOf(answer.document, schema))
    setQuery({ view: "document" }, { isStep: true })
  }
  return (
    <div class="verbs">
      <button type="button" class="primary" aria-disabled={isBusy} disabled={!schema} onClick={() => inBackground(take())}>
        Take it into the schema
      </button>
      {error && <Problem text={error.message} />}
    </div>
  )
}

function Fields({ fields }: { readonly fields: Report["fields"] }) {
  return (
    <details>
      <summary>What events hold</summary>
      <Table
        label="Fields"
        rows={fields}
        keyOf={({ path }) => path}
        columns={[
          { name: "field", show: ({ path }) => <code>{visible(path)}</code> },
          { name: "types", show: ({ types }) => types.join(", ") },
          { name: "events", isNumber: true, show: ({ events }) => formatNumber(events) },
          { name: "share", isNumber: true, show: ({ share }) => formatShare(share) },
        ]}
      />
    </details>
  )
}
