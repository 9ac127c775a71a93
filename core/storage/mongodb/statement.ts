// A write as a MongoDB statement. It is encoded once for all tries of its commit.
import { Double } from "mongodb"
import type { Document } from "../../contract/collection.ts"
import type { Commit, Filter, Update, Write } from "../../contract/store.ts"
import { AppError } from "../../kernel/errors.ts"
import { pathOf, type QueryScope, translate } from "./filter.ts"
import { makeUpdate, mergeUpdate } from "./merge.ts"
import { type Bson, Encoder, keyOf, timesAt, timesOf } from "./values.ts"

export interface Statement {
  readonly kind: "insert" | "update" | "merge" | "remove"
  readonly collection: string
  readonly key: string
  /** The document of an insert, otherwise `{ q, u, upsert }` or `{ q, limit }`. For a merge it inserts a missing document. */
  readonly body: Bson
  /** For a merge: the update of an existing document. It is many times longer. */
  readonly merge?: () => Bson
  /** If true, the commit fails unless the statement affects exactly one document. */
  readonly counted: boolean
  readonly write: Write
  /** Position in its commit. */
  readonly index: number
  /** Upper bound of bytes. */
  readonly size: number
}

export interface PreparedCommit {
  readonly id: string
  readonly statements: readonly Statement[]
  readonly size: number
}

/** Throws `invalid_argument` for values that cannot be stored unchanged. */
export function prepare(commit: Commit): PreparedCommit {
  const statements = commit.writes.map(statementOf)
  return { id: commit.id, statements, size: statements.reduce((sum, statement) => sum + statement.size, 64) }
}

function statementOf(write: Write, index: number): Statement {
  try {
    return encoded(write, index)
  } catch (error) {
    if (!write.collection.repairsText) throw error
    return encoded(repaired(write), index)
  }
}

/** Repairs text for storage. It is rare, and runs only after a refused write. */
function repaired(write: Write): Write {
  if (write.kind === "insert") return { ...write, doc: repairedValue(write.doc) as Document }
  return write.kind === "update" ? { ...write, update: repairedValue(write.update) as Update } : write
}

function repairedValue(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed()
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map(repairedValue)
  return Object.fromEntries(
    Object.entries(value).map(([name, inside]) => [name.replaceAll("\0", "\ufffd").toWellFormed(), repairedValue(inside)]),
  )
}

function encoded(write: Write, index: number): Statement {
  const encoder = new Encoder(write.collection.name)
  const about = { collection: write.collection.name, write, index }
  if (write.kind === "insert") {
    const body = encoder.document(write.collection, write.organization, write.doc)
    return { ...about, kind: "insert", key: String(body["_id"]), body: encoder.ready(body), counted: true, size: encoder.size }
  }
  if (write.kind === "newest_wins") {
    const encoded = encoder.document(write.collection, write.organization, write.doc)
    const key = String(encoded["_id"])
    const q = targetOf(write, key)
    const body = { q, u: encoder.ready(makeUpdate(write, encoded)), upsert: true }
    const merge = () => ({ q, u: encoder.ready(mergeUpdate(write, encoded)), upsert: false })
    return { ...about, kind: "merge", key, body, merge, counted: true, size: 3 * encoder.size + 2_000 }
  }
  const key = keyOf(write.organization, write.id)
  const q = targetOf(write, key, write.where)
  if (write.kind === "remove") return { ...about, kind: "remove", key, body: { q, limit: 1 }, counted: !write.optional, size: 512 }
  const body = { q, u: encoder.ready(toUpdate(write, write.update, encoder)), upsert: write.upsert === true }
  return { ...about, kind: "update", key, body, counted: write.upsert === true || !write.optional, size: encoder.size + 512 }
}

function targetOf(write: Write, key: string, where?: Filter): Bson {
  const target = write.organization === undefined ? { _id: key } : { _id: key, organization_id: write.organization }
  return where && Object.keys(where).length > 0 ? { ...target, $and: [translate(placeOf(write), where)] } : target
}

function placeOf(write: Write): QueryScope {
  return { collection: write.collection, organization: write.organization }
}

type Encode = (place: QueryScope, path: string, value: unknown, encoder: Encoder) => unknown

const encodeValue: Encode = (place, path, value, encoder) => encoder.value(value, timesAt(timesOf(place.collection), path), path)

const operators: Record<string, Encode> = {
  $set: encodeValue,
  $setOnInsert: encodeValue,
  $unset: () => "",
  // A double, because MongoDB would change a sum over 32 bits to another integer type.
  $inc: (place, path, value, encoder) => new Double(encodeValue(place, path, value, encoder) as number),
  // $each keeps a value literal, even if it looks like a modifier.
  $push: (...args) => ({ $each: [encodeValue(...args)] }),
  $addToSet: (...args) => ({ $each: [encodeValue(...args)] }),
  // Removes elements equal to the value. MongoDB's own $pull would treat an object as a condition.
  $pullAll: (place, path, value, encoder) => [encodeValue(place, path, value, encoder)],
}

function toUpdate(write: Write, update: Update, encoder: Encoder): Bson {
  const out: Bson = {}
  for (const [operator, changes] of Object.entries(update)) {
    const name = operator === "$pull" ? "$pullAll" : operator
    const encode = operators[name]
    if (!encode || operator === "$pullAll") throw refuse(write, operator, "is not an operator of an update")
    const encoded: Bson = {}
    for (const [path, value] of Object.entries(changes ?? {})) {
      if (value === undefined) continue
      checkPath(write, path)
      encoder.size += 64 + 3 * path.length
      encoded[path] = encode(placeOf(write), path, value, encoder)
    }
    if (Object.keys(encoded).length > 0) out[name] = encoded
  }
  // An empty update changes nothing, but an empty document would be a replacement.
  return Object.keys(out).length > 0 ? out : { $unset: { _unused: "" } }
}

function checkPath(write: Write, path: string): void {
  const top = path.split(".", 1)[0]
  if (pathOf(path) === "_id" || top === "_id" || top === "organization_id") throw refuse(write, path, "cannot be changed")
  if (path.includes("\0") || path.split(".").some((part) => part === "" || part.startsWith("$"))) {
    throw refuse(write, path, 'is not a field path: a part of it is empty, starts with "$" or holds NUL')
  }
}

function refuse(write: Write, path: string, what: string): AppError {
  const collection = write.collection.name
  return new AppError("invalid_argument", `${collection}: ${JSON.stringify(path)} ${what}.`, {
    reason: "invalid_fields",
    collection,
    fields: [{ path, message: what }],
  })
}
