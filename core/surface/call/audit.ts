// The audit log: who changed what, through which surface, kept in the commit of the change itself.
import type { Caller, Surface } from "../../contract/caller.ts"
import { type Document, defineCollection, type Json } from "../../contract/collection.ts"
import type { AnyOperation } from "../../contract/operation.ts"
import type { Work } from "../../contract/work.ts"
import { summary } from "./redact.ts"

export interface AuditRecord extends Document {
  at: string
  actor: { credential_id: string; user_id: string | null; surface: Surface }
  operation: string
  /** Path parameters. */
  target: Json
  /** What the call asked for, secrets cut. */
  changes: Json
  request_id: string
}

export const AuditLog = defineCollection<AuditRecord>()({
  name: "audit_log",
  scope: "organization",
  times: ["at"],
  indexes: [{ fields: ["operation", "-id"] }],
})

export function audit(args: { work: Work; operation: AnyOperation; caller: Caller; input: unknown; id: string; at: string }): void {
  const { work, operation, caller } = args
  const fields = typeof args.input === "object" && args.input !== null ? Object.entries(args.input) : []
  const named = new Set(pathParameters(operation.http.path))
  work.in(AuditLog, caller.organization.id).insert({
    id: args.id,
    at: args.at,
    actor: { credential_id: caller.credential.id, user_id: caller.user?.id ?? null, surface: caller.surface },
    operation: operation.name,
    target: summary(Object.fromEntries(fields.filter(([name]) => named.has(name)))),
    changes: summary(Object.fromEntries(fields.filter(([name]) => !named.has(name))), operation.secretOutput),
    request_id: caller.requestId,
  })
}

/** `/v1/datasets/{slug}/rows/{id}` -> `["slug", "id"]`. */
export function pathParameters(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? "")
}
