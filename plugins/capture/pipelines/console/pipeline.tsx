// A pipeline in the API's form, and a badge for its state.
import { Badge, type Output, type Tone } from "#console"

export type Pipeline = Output<"event_pipelines.get">

/** Properties of each view of a pipeline. */
export interface ViewProps {
  readonly pipeline: Pipeline
  /** Reads the pipeline again. */
  readonly reload: () => void
}

export const states = ["active", "disabled", "proposed"]
const tones: Readonly<Record<string, Tone>> = { active: "good", proposed: "warning" }

export function State({ state }: { readonly state: string }) {
  return <Badge tone={tones[state] ?? "plain"}>{state}</Badge>
}
