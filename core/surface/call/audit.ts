// The audit log: the author and surface of each change, with the values before and after. A record is part of the commit of its
// change. Secrets are removed by field name before a record is stored.
import type { AnyCaller, Surface } from "../../contract/caller.ts"
import { type CollectionSpec, type Document, defineCollection, type Json } from "../../contract/collection.ts"
import type { AnyOperation } from "../../contract/operation.ts"
import type { Store, Write } from "../../contract/store.ts"
import type { UnitOfWork } from "../../contract/unit-of-work.ts"
import { timestamp } from "../../kernel/clock.ts"
import { difference, summary } from "./audit-difference.ts"

/** One change in the audit log. */
export interface AuditRecord extends Document {
  at: string
  /** `organization_id`: the managing organization, if it made the call. Undefined in older records. */
  actor: { credential_id: string; user_id: string | null; organization_id?: string | null; surface: Surface }
  operation: string
  /** Path parameters. */
  target: Json
  /** Input of the call without secrets. */
  changes: Json
  /** The first documents written by the call. Undefined in records older than this field. */
  writes?: AuditedWrite[]
  /** Count of further written documents. Undefined in records older than this field. */
  more_writes?: number
  request_id: string
  /** Undefined in records older than this field. They do not expire. */
  expires_at?: string
}

export interface AuditedWrite {
  collection: string
  id: string
  /** Null for a new document. An update has only the changed fields. */
  before: Json
  /** Null for a removed document. */
  after: Json
}

/** One record for each changing operation: author, time and change. The record is part of the operation's commit. */
export const AuditLog = defineCollection<AuditRecord>()({
  name: "audit_log",
  scope: "organization",
  times: ["at", "expires_at"],
  indexes: [{ fields: ["operation", "-id"] }, { fields: ["actor.credential_id", "-id"] }, { fields: ["actor.user_id", "-id"] }],
  expires: "expires_at",
  audit: "none",
})

/** Audit records for calls of persons without an organization. `writes` is always empty. */
export const PersonalAuditLog = defineCollection<AuditRecord>()({
  name: "personal_audit_log",
  scope: "global",
  times: ["at", "expires_at"],
  indexes: [{ fields: ["actor.user_id", "-id"] }],
  expires: "expires_at",
  audit: "none",
})

/** Maximum of recorded writes. Further writes are counted; the input of the call describes them. */
const maxWrites = 40
/** Maximum of documents recorded by size only. */
const maxSizes = 10
const dayMs = 86_400_000
/** Digests and sealed values. They contain no clear secret and no information for a reader. */
const alsoSecret = ["hash", "secrets", "sealed", "ciphertext"]
/** Recorded fields of a document with a recorded size. */
const shownBesideSize = ["id", "created_at", "updated_at"]

export interface Changes {
  readonly writes: AuditedWrite[]
  readonly more: number
}

/** Reads the documents before a call writes them, within the organization. Returns both sides of each change. */
export async function changesOf(store: Store, writes: readonly Write[], organization: string): Promise<Changes> {
  const all = writes.filter((write) => write.organization === organization && write.collection.audit !== "none")
  let sizes = 0
  const shown = all.filter(({ collection }) => collection.audit !== "size" || sizes++ < maxSizes).slice(0, maxWrites)
  return { writes: await Promise.all(shown.map((write) => changeOf(store, write, organization))), more: all.length - shown.length }
}

async function changeOf(store: Store, write: Write, organization: string): Promise<AuditedWrite> {
  const id = write.kind === "insert" || write.kind === "newest_wins" ? write.doc.id : write.id
  const { collection } = write
  const tell = (before: unknown, after: unknown) => ({ collection: collection.name, id, ...sides(collection, before, after) })
  if (write.kind === "insert") return tell(null, ownFields(write.doc))
  const stored = await store.open(collection as CollectionSpec<Document, "organization">, organization).get(id)
  const kept = stored ? ownFields(stored) : null
  if (write.kind === "newest_wins") return tell(kept, ownFields(write.doc))
  if (write.kind === "remove") return tell(kept, null)
  const { $set = {}, $unset = {}, ...relative } = write.update
  const paths = [...Object.keys($set), ...Object.keys($unset), ...Object.values(relative).flatMap((fields) => Object.keys(fields ?? {}))]
  const before = stored ? Object.fromEntries(paths.map((path) => [path, valueAt(stored, path)])) : null
  const steps = Object.entries(relative).filter(([name]) => name !== "$setOnInsert" || !stored)
  return tell(before, { ...$set, ...Object.fromEntries(Object.keys($unset).map((path) => [path, null])), ...Object.fromEntries(steps) })
}

function sides({ audit, auditFields = [] }: CollectionSpec, before: unknown, after: unknown): { before: Json; after: Json } {
  if (audit !== "size") return difference(before, after, alsoSecret)
  const shown = [...shownBesideSize, ...auditFields]
  return { before: sizeOf(before, shown), after: sizeOf(after, shown) }
}

function sizeOf(document: unknown, shown: readonly string[]): Json {
  if (typeof document !== "object" || document === null) return null
  const fields = Object.entries(document).filter(([name]) => shown.includes(name))
  return { ...(Object.fromEntries(fields) as Record<string, Json>), bytes: bytesOf(document) }
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? "")
}

/** Returns the size of an input field, and its count if the field is a list. */
function inputSize(value: unknown): Json {
  return { ...(Array.isArray(value) ? { count: value.length } : {}), bytes: bytesOf(value) }
}

function ownFields(document: object): Record<string, unknown> {
  const { organization_id: _organization, ...rest } = document as Record<string, unknown>
  return rest
}

function valueAt(document: object, path: string): unknown {
  let value: unknown = document
  for (const step of path.split(".")) value = (value as Record<string, unknown> | null | undefined)?.[step]
  return value ?? null
}

export function audit(args: {
  work: UnitOfWork
  operation: AnyOperation
  caller: AnyCaller
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
  const asked = fields
    .filter(([name, value]) => !named.has(name) && value !== undefined)
    .map(([name, value]) => [name, operation.auditSize?.includes(name) ? inputSize(value) : value] as const)
  const log = caller.organization ? work.in(AuditLog, caller.organization.id) : work.in(PersonalAuditLog)
  log.insert({
    id: args.id,
    at: timestamp(args.now),
    actor: {
      credential_id: caller.credential.id,
      user_id: caller.user?.id ?? null,
      organization_id: caller.manager?.id ?? null,
      surface: caller.surface,
    },
    operation: operation.name,
    target: summary(Object.fromEntries(fields.filter(([name]) => named.has(name)))),
    changes: summary(Object.fromEntries(asked), operation.secretOutput),
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
