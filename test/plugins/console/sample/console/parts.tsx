// Every console part except the editor.
import { useSignal } from "@preact/signals"
import {
  Ago,
  Answered,
  Badge,
  Chart,
  Copy,
  FilterBar,
  OperationButton,
  query,
  Rates,
  SameAs,
  Table,
  Tabs,
  Time,
  useAnswer,
  useLive,
  VirtualTable,
} from "#console"

interface Dataset {
  readonly slug: string
  readonly created_at: string
}

const times = Array.from({ length: 60 }, (_, second) => 1_700_000_000 + second)

export default function Parts() {
  const listed = useAnswer<{ datasets: Dataset[] }>("datasets.list")
  const messages = useSignal<readonly string[]>([])
  const live = useLive("things", {
    onMessage: ({ data }) => {
      messages.value = [...messages.value, String((data as { name?: unknown }).name)]
    },
  })
  return (
    <>
      <h1>Sample</h1>
      <Tabs
        name="part"
        tabs={[
          ["one", "Lists"],
          ["two", "Pictures"],
        ]}
      />
      <FilterBar filters={[{ name: "state", choices: ["new", "old"] }, { name: "text" }]} />
      <p>
        State: <Badge tone="good">{query()["state"] ?? "any"}</Badge> <Copy text="copied text" name="text" />
      </p>
      {query()["part"] === "two" ? (
        <>
          <Chart
            label="Events a minute"
            names={["10:00", "10:01", "10:02"]}
            series={[
              { name: "succeeded", values: [3, 9, 5] },
              { name: "failed", values: [0, 2, 1] },
            ]}
          />
          <Chart label="By variant" kind="bars" names={["a", "b"]} series={[{ name: "conversion", values: [0.2, 0.5] }]} />
          <Rates label="Rates" names={["events"]} data={[times, times.map((_, second) => second % 7)]} />
        </>
      ) : (
        <Answered of={listed}>
          {({ datasets }) => (
            <>
              <Table
                label="Datasets"
                rows={datasets}
                keyOf={({ slug }) => slug}
                columns={[
                  { name: "slug", show: ({ slug }) => <a href={`/console/sample/${slug}/edit`}>{slug}</a> },
                  { name: "created", show: ({ created_at }) => <Time value={created_at} /> },
                  { name: "age", show: ({ created_at }) => <Ago value={created_at} />, isNumber: true },
                ]}
              />
              <VirtualTable
                label="A million numbers"
                count={1_000_000}
                rowAt={(index) => index}
                columns={[
                  { name: "number", show: (row) => row, isNumber: true },
                  { name: "square", show: (row) => row * row, isNumber: true },
                ]}
              />
            </>
          )}
        </Answered>
      )}
      <OperationButton operation="datasets.create" input={{ name: "Made by a button" }} ask="Make a dataset?" onDone={listed.reload}>
        Make
      </OperationButton>
      <p role="status">
        {live.isConnected ? "listening" : "not connected"}: {messages.value.join(", ")}
        {live.caughtUp > 0 && ` (${live.caughtUp} came late)`}
      </p>
      <SameAs name="datasets.list" input={{}} />
    </>
  )
}
