// Approvals: what waits or waited for a person, with exactly what would be done, the decision and how it ended.
import { AppError, type Document, defineCollection, type Json, type Sealed } from "#core"
import type { Hidden } from "./shown-input.ts"

export const states = ["pending", "approved", "rejected", "expired", "done", "failed"] as const
export type ApprovalState = (typeof states)[number]

export interface StoredApproval extends Document {
  state: ApprovalState
  gate: string
  risk: "low" | "medium" | "high"
  subject: { kind: "operation" | "step" | "job"; name: string }
  what: string
  why: string
  requester: { credential_id: string | null; user_id: string | null; manager_id?: string | null; surface: string }
  /** As people see it: what is named like a secret is redacted. */
  input: Json
  /** Values that are redacted. Absent in older approvals. */
  hidden?: Hidden[]
  /** Who it reaches beside the input. Absent in older approvals. */
  target?: Json
  /** Fields that hold the text of a mail or message; they are shown in full. */
  contents?: string[]
  /** What would be done, exactly, sealed where the input names a secret; then `input` is not it. */
  sealed: Sealed | null
  /** HMAC-SHA-256 of the input that is decided about; after an edit, of the edited one. */
  digest: string
  /** The key of the digests, random for each approval, so that no change of the master key changes them; base64. */
  digest_key: { sealed: Sealed }
  /** Of the input that was asked for, where a person edited it. */
  asked_digest: string | null
  job: string
  decided_by: { credential_id: string; user_id: string | null } | null
  decided_at: string | null
  note: string
  receipt: {
    at: string
    digest: string
    ok: boolean
    result: Json
    error: { code: string; message: string; reason?: string | null } | null
  } | null
  created_at: string
  expires_at: string
  removed_at: string
}

/** What the exact input of an approval is sealed with. */
export function sealContext(approvalId: string): string {
  return `approval ${approvalId}`
}

/** What the key of an approval's digests is sealed with. */
export function digestKeyContext(approvalId: string): string {
  return `digest key of approval ${approvalId}`
}

export const ApprovalCollection = defineCollection<StoredApproval>()({
  name: "approval_requests",
  scope: "organization",
  times: ["created_at", "expires_at", "decided_at", "receipt.at", "removed_at"],
  indexes: [{ fields: ["-created_at"] }, { fields: ["state", "-created_at"] }, { fields: ["state", "expires_at"] }, { fields: ["job"] }],
  expires: "removed_at",
  // What was asked for goes with the approval; the audit log is kept for longer.
  audit: "size",
  auditFields: [
    "state",
    "gate",
    "risk",
    "subject",
    "requester",
    "digest",
    "asked_digest",
    "decided_by",
    "decided_at",
    "note",
    "expires_at",
  ],
  sealed: ({ id, sealed, digest_key }) => [
    { path: "digest_key.sealed", sealed: digest_key.sealed, context: digestKeyContext(id) },
    ...(sealed === null ? [] : [{ path: "sealed", sealed, context: sealContext(id) }]),
  ],
})

// Text that not every store can hold is refused on all of them: half of a surrogate pair.

/** Throws `invalid_argument` that names the first place. */
export function refuseHalves(input: Json, path = ""): void {
  const place = halfAt(input, path)
  if (place === undefined) return
  const message = "holds half of a surrogate pair (a lone surrogate), which cannot be stored"
  throw new AppError("invalid_argument", `${place} ${message}.`, { reason: "invalid_fields", fields: [{ path: place, message }] })
}

function halfAt(value: Json, path: string): string | undefined {
  if (typeof value === "string") return value.isWellFormed() ? undefined : path
  if (typeof value !== "object" || value === null) return undefined
  for (const [name, inside] of Object.entries(value)) {
    const at = path === "" ? name : `${path}.${name}`
    const half = name.isWellFormed() ? halfAt(inside, at) : at.toWellFormed()
    if (half !== undefined) return half
  }
  return undefined
}
