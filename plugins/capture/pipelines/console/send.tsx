// Sends an event to a pipeline from inside the service. The event is processed like any other.
import { OperationForm } from "#console"
import type { ViewProps } from "./pipeline.tsx"

export default function Send({ pipeline: { slug } }: ViewProps) {
  return <OperationForm name="event_pipelines.send_event" known={{ slug }} />
}
