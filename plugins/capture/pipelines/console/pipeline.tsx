// A pipeline as the API shows it, and its state in a word.
import { Badge, type Tone } from "#console"

export interface Pipeline {
  readonly id: string
  readonly slug: string
  readonly name: string
  readonly state: string
  readonly source_kind: string
  readonly auth_mode: string
  readonly auth_config: Readonly<Record<string, unknown>>
  readonly purpose: string
  readonly inbound_url: string | null
  readonly write_target_datasets: readonly string[]
  readonly revision: number
  readonly updated_at: string
  readonly warnings: readonly string[]
}

/** What each view of a pipeline is given. */
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
