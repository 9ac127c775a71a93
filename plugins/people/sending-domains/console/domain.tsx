// A sending domain as the screens show it.
import { Badge, type Tone } from "#console"

export interface Domain {
  readonly domain: string
  readonly status: string
  readonly error_reason: string
  readonly dns_records: readonly { readonly name: string; readonly type: string; readonly value: string }[]
  readonly from_email: string
  readonly forward_to_email: string
  readonly receiving_enabled: boolean
  readonly warnings: readonly string[]
  readonly last_checked_at: string
  readonly created_at: string
}

const tones: Readonly<Record<string, Tone>> = { active: "good", failed: "bad", pending: "warning" }

export function Status({ status }: { readonly status: string }) {
  return <Badge tone={tones[status] ?? "plain"}>{status}</Badge>
}
