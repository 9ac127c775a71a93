// The audit log: who changed what, through which surface, with what was there before and after, kept in the commit of
// the change itself. Secrets are cut by name before anything is kept.
import type { Caller, Surface } from "../../contract/caller.ts"
import { type CollectionSpec, type Document, defineCollection, type Json } from "../../contract/collection.ts"
import type { AnyOperation } from "../../contract/operation.ts"
import type { Store, Write } from "../../contract/store.ts"
import type { Work } from "../../contract/work.ts"
import { timestamp } from "../../kernel/clock.ts"
import { summary } from "./redact.ts"

/** One change, as the audit log keeps it. */
export interface AuditRecord extends Document {
  at: string
  actor: { credential_id: string; user_id: string | null; surface: Surface }
  operation: string
  /** Path parameters. */
  target: Json
  /** What the call asked for, secrets cut. */
  changes: Json
  /** The first documents that it made, changed or removed; undefined in records older than this field. */
  writes?: AuditedWrite[]
  /** How many more there were; undefined in records older than this field. */
  more_writes?: number
  request_id: string
  /** undefined in records older than this field, which stay. */
  expires_at?: string
}

export interface AuditedWrite {
  collection: string
  id: string
  /** Null where the document was made; of an update only the fields that it touched. */
  before: Json
  /** Null where the document was removed. */
  after: Json
}

/** Who changed what and when: a record for each operation that changed something, written in its commit. */
export const AuditLog = defineCollection<AuditRecord>()({
  name: "audit_log",
  scope: "organization",
  times: ["at", "expires_at"],
  indexes: [{ fields: ["operation", "-id"] }, { fields: ["actor.credential_id", "-id"] }, { fields: ["actor.user_id", "-id"] }],
  expires: "expires_at",
})

/** More writes than these are counted, and told by the call's own input. */
const maxWrites = 10
const dayMs = 86_400_000
/** Bookkeeping of the surfaces, no change that somebody asked for. */
const own = new Set(["audit_log", "idempotency_records", "live_messages", "live_nodes", "live_outboxes", "jobs"])
/** Digests and sealed values: no secret in clear, and of no use to a reader. */
const alsoSecret = ["hash", "secrets", "sealed", "ciphertext"]

export interface Changes {
  readonly writes: AuditedWrite[]
  readonly more: number
}

/** Before and after of the documents that a call is about to write, inside its organization. */
export async function changesOf(store: Store, writes: readonly Write[], organization: string): Promise<Changes> {
  const all = writes.filter((write) => write.organization === organization && !own.has(write.collection.name))
  const told = all.slice(0, maxWrites)
  return { writes: await Promise.all(told.map((write) => changeOf(store, write, organization))), more: all.length - told.length }
}

async function changeOf(store: Store, write: Write, organization: string): Promise<AuditedWrite> {
  const id = write.kind === "insert" || write.kind === "merge" ? write.doc.id : write.id
  const collection = write.collection.name
  if (write.kind === "insert") return { collection, id, before: null, after: shown(write.doc) }
  const stored = await store.open(write.collection as CollectionSpec<Document, "organization">, organization).get(id)
  if (write.kind === "merge") return { collection, id, before: stored ? shown(stored) : null, after: shown(write.doc) }
  if (write.kind === "remove") return { collection, id, before: stored ? shown(stored) : null, after: null }
  const { $set = {}, $unset = {}, ...relative } = write.update
  const paths = [...Object.keys($set), ...Object.keys($unset), ...Object.values(relative).flatMap((fields) => Object.keys(fields ?? {}))]
  const before = stored ? Object.fromEntries(paths.map((path) => [path, valueAt(stored, path)])) : null
  const steps = Object.entries(relative).filter(([name]) => name !== "$setOnInsert" || !stored)
  const after = { ...$set, ...Object.fromEntries(Object.keys($unset).map((path) => [path, null])), ...Object.fromEntries(steps) }
  return { collection, id, before: before && summary(before, alsoSecret), after: summary(after, alsoSecret) }
}

function shown(document: object): Json {
  const { organization_id: _organization, ...rest } = document as Record<string, unknown>
  return summary(rest, alsoSecret)
}

function valueAt(document: object, path: string): unknown {
  let value: unknown = document
  for (const step of path.split(".")) value = (value as Record<string, unknown> | null | undefined)?.[step]
  return value ?? null
}

export function audit(args: {
  work: Work
  operation: AnyOperation
  caller: Caller
  input: unknown
  changes?: Changes
  id: string
  /** Milliseconds since the epoch. */
  now: number
  keptDays: number
}): void {
  const { work, operation, caller } = args
  const fields = typeof args.input === "object" && args.input !== null ? Object.entries(args.input) : []
  const named = new Set(pathParameters(operation.http.path))
  work.in(AuditLog, caller.organization.id).insert({
    id: args.id,
    at: timestamp(args.now),
    actor: { credential_id: caller.credential.id, user_id: caller.user?.id ?? null, surface: caller.surface },
    operation: operation.name,
    target: summary(Object.fromEntries(fields.filter(([name]) => named.has(name)))),
    changes: summary(Object.fromEntries(fields.filter(([name]) => !named.has(name))), operation.secretOutput),
    writes: args.changes?.writes ?? [],
    more_writes: args.changes?.more ?? 0,
    request_id: caller.requestId,
    expires_at: timestamp(args.now + args.keptDays * dayMs),
  })
}

/** `/v1/datasets/{slug}/rows/{id}` -> `["slug", "id"]`. */
export function pathParameters(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? "")
}
