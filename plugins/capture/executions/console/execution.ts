// The complete record of an event, as the API answers it.
import type { Output } from "#console"

export type Step = Execution["steps"][string]

export type Execution = Output<"events.get">

export type Payload = Output<"event_pipelines.get_payload">
