// An event in a list, and a badge for its status.
import { Badge, type Column, hrefOf, type Output, Table, Time, type Tone, visible } from "#console"

export type Event = Output<"events.list">["events"][number]

export const statuses = ["accepted", "rejected", "failed"]
const tones: Readonly<Record<string, Tone>> = { accepted: "good", rejected: "warning", failed: "bad" }
const maxPreview = 160

export function Status({ status }: { readonly status: string }) {
  return <Badge tone={tones[status] ?? "plain"}>{status}</Badge>
}

export function hrefOfEvent(id: string): string {
  return hrefOf(["events", id])
}

const columns: readonly Column<Event>[] = [
  {
    name: "received",
    show: (event) => (
      <a href={hrefOfEvent(event.id)}>
        <Time value={event.received_at} />
      </a>
    ),
  },
  { name: "pipeline", show: ({ pipeline_slug }) => pipeline_slug },
  { name: "status", show: ({ status }) => <Status status={status} /> },
  { name: "cause", show: ({ cause, error }) => [cause, error?.step && `at ${error.step}`].filter(Boolean).join(" ") },
  {
    name: "kind",
    show: ({ is_test, repeat_of, replay_of, count }) =>
      [is_test && "test", repeat_of && "repeat", replay_of && "replay", count > 1 && `${count} alike`].filter(Boolean).join(", "),
  },
  { name: "payload", show: ({ payload_preview }) => <code class="preview">{visible(payload_preview.slice(0, maxPreview))}</code> },
]

export function EventTable({ label, events }: { readonly label: string; readonly events: readonly Event[] }) {
  return <Table<Event> label={label} rows={events} keyOf={({ id }) => id} columns={columns} />
}
