// Approvals of pending and decided requests: the exact input, the decision and the outcome.
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
  /** The input for display. Values with secret names are redacted. */
  input: Json
  /** Redacted values. Absent in older approvals. */
  hidden?: Hidden[]
  /** Recipients outside the input. Absent in older approvals. */
  target?: Json
  /** Fields with the text of a mail or message. They are shown in full. */
  contents?: string[]
  /** The exact input, sealed if it contains a secret. `input` is then redacted. */
  sealed: Sealed | null
  /** HMAC-SHA-256 of the input for decision. After an edit: of the edited input. */
  digest: string
  /** Key of the digests, base64. Random for each approval, so a new master key does not change the digests. */
  digest_key: { sealed: Sealed }
  /** Digest of the original input, if a person edited it. */
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

/** Seal context of an approval's exact input. */
export function sealContext(approvalId: string): string {
  return `approval ${approvalId}`
}

/** Seal context of an approval's digest key. */
export function digestKeyContext(approvalId: string): string {
  return `digest key of approval ${approvalId}`
}

export const ApprovalCollection = defineCollection<StoredApproval>()({
  name: "approval_requests",
  scope: "organization",
  times: ["created_at", "expires_at", "decided_at", "receipt.at", "removed_at"],
  indexes: [{ fields: ["-created_at"] }, { fields: ["state", "-created_at"] }, { fields: ["state", "expires_at"] }, { fields: ["job"] }],
  expires: "removed_at",
  // The input is removed with the approval. The audit log is retained longer and records only its size.
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

// Refuses half surrogate pairs on every store, because some stores cannot contain them.

/** Throws `invalid_argument` with the first place. */
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
