// Computes the error of a single commit that failed alone.
import { AppError } from "../../kernel/errors.ts"
import type { Batch } from "./batch.ts"
import type { Statement } from "./statement.ts"
import { refusedWrite, type WriteTrouble } from "./trouble.ts"

/** Decides about a refused statement: an error for the caller, or another try. */
export function verdictOf(statement: Statement, trouble: WriteTrouble): AppError | "present" | "again" {
  if (trouble.code !== 11000) return refusedWrite(statement.collection, trouble)
  const pattern = Object.keys(trouble.keyPattern ?? {})
  const byId = pattern.length === 1 && pattern[0] === "_id"
  const { write, collection } = statement
  if (!byId)
    return taken(
      collection,
      pattern.filter((field) => field !== "organization_id"),
    )
  if (write.kind === "insert") return write.ifPresent === "keep" ? "present" : taken(collection, ["id"])
  // An upsert conflicted with its own id. The document exists and does not match, or was created concurrently.
  if (write.kind === "update" && write.where) return mismatch(collection, write.id, undefined, write.where)
  return "again"
}

/** Returns the error of a conditional statement without effect. `stored` are the existing documents. */
export function missedVerdict(batch: Batch, stored: readonly Record<string, unknown>[]): AppError {
  const statement = batch.items[0]?.statement
  const write = statement?.write
  if (!statement || !write || write.kind === "insert" || write.kind === "newest_wins") {
    return new AppError("internal", `A write to ${batch.collection} affected nothing.`, { reason: "internal" })
  }
  const found = stored.find((document) => document["_id"] === statement.key)
  if (found) return mismatch(batch.collection, write.id, found["revision"], write.where ?? {})
  return new AppError("not_found", `${batch.collection}: document ${JSON.stringify(write.id)} does not exist.`, {
    reason: "document_not_found",
    collection: batch.collection,
    fields: [{ path: "id", message: "is not there" }],
  })
}

function taken(collection: string, fields: readonly string[]): AppError {
  return new AppError("already_exists", `${collection}: ${fields.join(", ")} is taken by another document.`, {
    reason: "duplicate_value",
    collection,
    fields: fields.map((path) => ({ path, message: "is taken" })),
  })
}

function mismatch(collection: string, id: string, revision: unknown, where: object): AppError {
  const about = { collection, id }
  if (Object.hasOwn(where, "revision") && revision !== undefined) {
    return new AppError("aborted", `${collection}: ${id} is now at revision ${String(revision)}; read it again.`, {
      ...about,
      reason: "revision_mismatch",
      current_revision: revision,
    })
  }
  return new AppError("aborted", `${collection}: ${id} was changed concurrently; read it again.`, {
    ...about,
    reason: "condition_not_met",
  })
}
