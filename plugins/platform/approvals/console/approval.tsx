// An approval as the screens show it.
import { Badge, type Tone } from "#console"

export interface Approval {
  readonly id: string
  readonly state: string
  readonly gate: string
  readonly risk: string
  readonly subject: { readonly kind: string; readonly name: string }
  readonly what: string
  readonly why: string
  readonly requester: { readonly credential_id: string | null; readonly user_id: string | null; readonly surface: string }
  readonly input: unknown
  readonly hidden: readonly { readonly path: string; readonly characters: number }[]
  readonly target: unknown
  readonly digest: string
  readonly decided_by: { readonly credential_id: string; readonly user_id: string | null } | null
  readonly decided_at: string | null
  readonly note: string
  readonly receipt: {
    readonly at: string
    readonly ok: boolean
    readonly result: unknown
    readonly error: { readonly message: string } | null
  } | null
  readonly created_at: string
  readonly expires_at: string
}

export interface Listed {
  readonly approvals: readonly Approval[]
  readonly next_cursor: string
}

const tones: Readonly<Record<string, Tone>> = { pending: "warning", done: "good", failed: "bad", rejected: "bad" }

export function State({ state }: { readonly state: string }) {
  return <Badge tone={tones[state] ?? "plain"}>{state}</Badge>
}
