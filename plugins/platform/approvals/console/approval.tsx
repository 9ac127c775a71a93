// An approval as the screens show it.
import { Badge, type Output, type Tone } from "#console"

export type Approval = Output<"approvals.get">

const tones: Readonly<Record<string, Tone>> = { pending: "warning", done: "good", failed: "bad", rejected: "bad" }

export function State({ state }: { readonly state: string }) {
  return <Badge tone={tones[state] ?? "plain"}>{state}</Badge>
}
