// Rows of a dataset, filtered and sorted by the service and loaded during scrolling. A selected row is shown next to the list.
import {
  Answered,
  Badge,
  Copy,
  hrefWith,
  Nothing,
  OperationForm,
  Problem,
  query,
  SameAs,
  type ScreenProps,
  Tabs,
  UntrustedText,
  useAnswer,
  VirtualTable,
} from "#console"
import { columnsOf, type Dataset, type Row } from "./columns.tsx"
import { Filters } from "./filters.tsx"
import { Insert } from "./insert.tsx"
import { OneRow } from "./one-row.tsx"
import { useRows } from "./use-rows.ts"

export default function DatasetScreen({ params }: ScreenProps) {
  const { slug = "" } = params
  const read = useAnswer("datasets.get", { slug })
  const { part = "rows" } = query()
  return (
    <>
      <p>
        <a href="/console/datasets">Datasets</a>
      </p>
      <h1>
        <UntrustedText text={read.answer?.name ?? slug} />
      </h1>
      <Tabs
        name="part"
        tabs={[
          ["rows", "Rows"],
          ["insert", "Insert"],
          ["settings", "About"],
        ]}
      />
      <Answered of={read}>
        {(dataset) => {
          if (part === "insert") return <Insert dataset={dataset} />
          if (part === "settings") return <About dataset={dataset} onDone={read.reload} />
          return <Rows dataset={dataset} />
        }}
      </Answered>
    </>
  )
}

function Rows({ dataset }: { readonly dataset: Dataset }) {
  const { slug } = dataset
  const { filter = "", sort = "", row: chosen = "" } = query()
  const { rows, isComplete, problem, more, reload, without } = useRows(slug, filter, sort)
  const loaded = rows.find(({ id }) => id === chosen)
  // A saved link may select a row below the loaded rows, or a row outside the filter.
  const isApart = chosen !== "" && !loaded && (rows.length > 0 || isComplete)
  const apart = useAnswer(isApart ? "datasets.list_rows" : undefined, {
    slug,
    filter: JSON.stringify({ id: chosen }),
  })
  const one = loaded ?? (isApart ? apart.answer?.rows[0] : undefined)
  const isRefused = problem !== "" && rows.length === 0
  const input = { slug, ...(filter && { filter }), ...(sort && { sort }) }
  const hrefOfExport = (asked: Readonly<Record<string, string>>) =>
    `/v1/datasets/${encodeURIComponent(slug)}/export?${new URLSearchParams({ ...asked, ...(filter && { filter }) })}`
  return (
    <>
      <Filters dataset={dataset} />
      {problem && <Problem text={problem} />}
      <p class="about" role="status">
        {!isRefused &&
          `${rows.length.toLocaleString("en")} ${rows.length === 1 ? "row" : "rows"}${isComplete ? "" : ", more as you scroll"}. `}
        <a href={hrefOfExport({ format: "csv", bom: "true" })} download>
          Export as CSV
        </a>{" "}
        <a href={hrefOfExport({ format: "ndjson" })} download>
          as NDJSON
        </a>{" "}
        <button type="button" onClick={reload}>
          Read again
        </button>
      </p>
      {isApart && apart.answer && !one && <p role="status">The row of this address no longer exists.</p>}
      {isComplete && rows.length === 0 && <Nothing>{filter === "" ? "No rows yet." : "No row is like this."}</Nothing>}
      {!isRefused && !(isComplete && rows.length === 0) && (
        <div class={one ? "split" : ""}>
          <VirtualTable<Row>
            label={`Rows of ${dataset.name}`}
            columns={columnsOf(dataset, sort)}
            count={rows.length + (isComplete ? 0 : 20)}
            rowAt={(index) => rows[index]}
            onRange={(_first, last) => {
              if (last >= rows.length - 40) more()
            }}
          />
          {one && <OneRow key={one.id} dataset={dataset} row={one} onDeleted={() => without(one.id)} />}
        </div>
      )}
      <SameAs name="datasets.list_rows" input={input} />
    </>
  )
}

function About({ dataset, onDone }: { readonly dataset: Dataset; readonly onDone: () => void }) {
  return (
    <>
      <UntrustedText text={dataset.description} isParagraph />
      <p>
        <Badge tone={dataset.status === "active" ? "good" : "plain"}>{dataset.status}</Badge> {dataset.class}, key{" "}
        {dataset.key ?? "none yet"}. <code>{dataset.slug}</code> <Copy text={dataset.slug} name="slug" />{" "}
        <a href={hrefWith({ part: "" })}>Rows</a>
      </p>
      {dataset.warnings.map((text) => (
        <p key={text} class="problem">
          {text}
        </p>
      ))}
      <OperationForm name="datasets.update" known={{ slug: dataset.slug }} present={{ ...dataset }} onStale={onDone} onDone={onDone} />
      <SameAs name="datasets.get" input={{ slug: dataset.slug }} />
    </>
  )
}
