// A sending domain as the screens show it.
import { Badge, type Tone } from "#console"

const tones: Readonly<Record<string, Tone>> = { active: "good", failed: "bad", pending: "warning" }

export function Status({ status }: { readonly status: string }) {
  return <Badge tone={tones[status] ?? "plain"}>{status}</Badge>
}
