// One whole row, with its actions.
import { Answered, Copy, Facts, hrefWith, mayCall, OperationButton, setQuery, Table, Time, useAnswer, Value, visible } from "#console"
import type { Dataset, Row } from "./columns.tsx"

interface OneRowArgs {
  readonly dataset: Dataset
  readonly row: Row
  readonly onDeleted: () => void
}

export function OneRow({ dataset: { slug }, row: { id, values, created_at, updated_at }, onDeleted }: OneRowArgs) {
  return (
    <section aria-label="Row">
      <h2>Row</h2>
      <p class="about">
        <code>{id}</code>, made <Time value={created_at} />, changed <Time value={updated_at} />
      </p>
      <div class="verbs">
        <Copy text={JSON.stringify(values, null, 2)} name="as JSON" />
        <OperationButton
          operation="datasets.delete_row"
          input={{ slug, id }}
          ask="Delete this row? It cannot be taken back."
          isDangerous
          onDone={() => {
            setQuery({ row: "" })
            onDeleted()
          }}
        >
          Delete
        </OperationButton>
        <a href={hrefWith({ row: "" })}>Close</a>
      </div>
      <Facts of={Object.entries(values).map(([name, value]) => [visible(name), <Value key={name} value={value} />])} />
      {mayCall("events.find") && <Origin id={id} />}
    </section>
  )
}

/** The stored events that wrote the row. */
function Origin({ id }: { readonly id: string }) {
  const found = useAnswer("events.find", { text: id, limit: 20 })
  return (
    <section aria-label="Where it came from">
      <h3>Where it came from</h3>
      <Answered of={found}>
        {({ events }) =>
          events.length === 0 ? (
            <p class="about">No event that is still kept wrote it.</p>
          ) : (
            <Table
              label="Events"
              rows={events}
              keyOf={(event) => event.id}
              columns={[
                {
                  name: "received",
                  show: (event) => (
                    <a href={`/console/events/${event.id}`}>
                      <Time value={event.received_at} />
                    </a>
                  ),
                },
                { name: "pipeline", show: ({ pipeline_slug }) => pipeline_slug },
                { name: "status", show: ({ status }) => status },
              ]}
            />
          )
        }
      </Answered>
    </section>
  )
}
