// The organization's experiments, newest first.
import {
  Ago,
  Answered,
  Badge,
  FilterBar,
  hrefOf,
  NextPage,
  Nothing,
  OperationDetails,
  query,
  SameAs,
  Table,
  UntrustedText,
  useAnswer,
} from "#console"
import { statusTones } from "./report.tsx"

export default function Experiments() {
  const { status = "", cursor = "" } = query()
  const input = { ...(status && { status }), ...(cursor && { cursor }) }
  const listed = useAnswer("experiments.list", input)
  return (
    <>
      <h1>Experiments</h1>
      <FilterBar filters={[{ name: "status", choices: Object.keys(statusTones) }]} />
      <Answered of={listed}>
        {({ experiments, next_cursor }) => (
          <>
            {experiments.length === 0 ? (
              <Nothing>An experiment compares the variants of a page: by simulated people, by a judge, and by real visitors.</Nothing>
            ) : (
              <Table
                label="Experiments"
                rows={experiments}
                keyOf={({ slug }) => slug}
                columns={[
                  {
                    name: "name",
                    show: ({ slug, name }) => (
                      <a href={hrefOf(["experiments", slug])}>
                        <UntrustedText text={name} />
                      </a>
                    ),
                  },
                  { name: "status", show: ({ status: shown }) => <Badge tone={statusTones[shown]}>{shown}</Badge> },
                  { name: "variants", isNumber: true, show: ({ variants }) => variants.length },
                  { name: "decided for", show: ({ decision }) => decision && (decision.variant_key || "none") },
                  { name: "started", show: ({ started_at }) => <Ago value={started_at} /> },
                  { name: "ended", show: ({ ended_at }) => ended_at && <Ago value={ended_at} /> },
                ]}
              />
            )}
            <NextPage cursor={next_cursor} />
          </>
        )}
      </Answered>
      <OperationDetails title="Make an experiment" name="experiments.create" onDone={listed.reload} />
      <SameAs name="experiments.list" input={input} />
    </>
  )
}
