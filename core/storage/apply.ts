// Applies a checked update or merge to a document, for drivers that store documents as text. Follows MongoDB's rules for the
// port's subset. It changes only the passed document.
import type { Json } from "../contract/collection.ts"
import type { NewestWinsWrite, Update } from "../contract/store.ts"
import { AppError } from "../kernel/errors.ts"
import { same } from "./match.ts"

export type Stored = Record<string, Json>
type Change = (parent: Stored | Json[], key: string, operand: Json, path: string) => void

/** Applies every operator. `created` includes `$setOnInsert`. Throws `failed_precondition` if a stored value has the wrong type. */
export function applyUpdate(document: Stored, update: Update, created: boolean): void {
  for (const [operator, changes] of Object.entries(update)) {
    if (operator === "$setOnInsert" && !created) continue
    const change = operators[operator as keyof Update]
    for (const [path, operand] of Object.entries(changes as Record<string, Json>)) {
      const place = placeOf(document, path, operator !== "$unset" && operator !== "$pull")
      if (place) change(place.parent, place.key, operand, path)
    }
  }
}

/**
 * Merges a write column by column. The newest position wins. `stored` is undefined if the row is missing. Returns the row to
 * store.
 */
export function applyMerge(stored: Stored | undefined, write: NewestWinsWrite): Stored {
  const { doc, position } = write
  if (!stored) return { ...(doc as unknown as Stored), position, column_positions: {} }
  const last = String(stored["position"] ?? "")
  const [newest = position] = [position, last].sort().reverse()
  const values = stored["values"] as Stored
  const older = new Map(Object.entries((stored["column_positions"] ?? {}) as Record<string, string>))
  const written = new Map(Object.keys(values).map((column) => [column, older.get(column) ?? last]))
  for (const [column, value] of Object.entries(doc.values)) {
    const at = written.get(column)
    if (at !== undefined && at >= position) continue
    values[column] = value
    written.set(column, position)
  }
  stored["position"] = newest
  stored["column_positions"] = Object.fromEntries([...written].filter(([, at]) => at !== newest))
  if (doc.created_at < String(stored["created_at"])) stored["created_at"] = doc.created_at
  if (doc.updated_at > String(stored["updated_at"])) stored["updated_at"] = doc.updated_at
  return stored
}

const operators: Record<keyof Update, Change> = {
  $set: put,
  $setOnInsert: put,
  $unset(parent, key) {
    if (!Array.isArray(parent)) delete parent[key]
    // A list keeps its length, as in MongoDB.
    else if (Number(key) < parent.length) parent[Number(key)] = null
  },
  $inc(parent, key, operand, path) {
    const value = valueAt(parent, key) ?? (has(parent, key) ? null : 0)
    if (typeof value !== "number") throw unfit("$inc", path, value, "a number")
    const sum = value + Number(operand)
    if (!Number.isFinite(sum)) throw unfit("$inc", path, value, "small enough to add to")
    put(parent, key, sum)
  },
  $push(parent, key, operand, path) {
    listAt("$push", parent, key, path).push(operand)
  },
  $addToSet(parent, key, operand, path) {
    const list = listAt("$addToSet", parent, key, path)
    if (!list.some((element) => same(element, operand))) list.push(operand)
  },
  $pull(parent, key, operand, path) {
    if (!has(parent, key)) return
    const list = listAt("$pull", parent, key, path)
    const kept = list.filter((element) => !same(element, operand))
    if (kept.length < list.length) put(parent, key, kept)
  },
}

interface Slot {
  readonly parent: Stored | Json[]
  readonly key: string
}

/** Returns the parent and key of a path's last part. With `make` it creates missing objects, otherwise it returns undefined. */
function placeOf(document: Stored, path: string, make: boolean): Slot | undefined {
  if (!path.includes(".")) return { parent: document, key: path }
  const segments = path.split(".")
  const key = segments.pop() ?? ""
  let parent: Stored | Json[] = document
  for (const segment of segments) {
    if (!has(parent, segment)) {
      if (!make) return undefined
      checkPosition(parent, segment, path)
      put(parent, segment, {})
    }
    const next = valueAt(parent, segment)
    if (typeof next !== "object" || next === null) {
      if (!make) return undefined
      throw new AppError(
        "failed_precondition",
        `${path} cannot be changed: ${JSON.stringify(segment)} holds ${JSON.stringify(next)}, no object.`,
        {
          reason: "value_type_mismatch",
          fields: [{ path, message: "passes through a value that is not an object" }],
        },
      )
    }
    parent = next
  }
  if (make) checkPosition(parent, key, path)
  else if (Array.isArray(parent) && !isPosition(key)) return undefined
  return { parent, key }
}

function checkPosition(parent: Stored | Json[], key: string, path: string): void {
  if (!Array.isArray(parent) || (isPosition(key) && Number(key) <= parent.length + 1_000)) return
  throw new AppError(
    "failed_precondition",
    `${path} cannot be changed: ${JSON.stringify(key)} is not a position in a list of ${parent.length}.`,
    {
      reason: "value_type_mismatch",
      fields: [{ path, message: "is not a position in the list" }],
    },
  )
}

function put(parent: Stored | Json[], key: string, value: Json): void {
  if (!Array.isArray(parent)) {
    parent[key] = value
    return
  }
  while (parent.length < Number(key)) parent.push(null)
  parent[Number(key)] = value
}

function has(parent: Stored | Json[], key: string): boolean {
  return Array.isArray(parent) ? isPosition(key) && Number(key) < parent.length : Object.hasOwn(parent, key)
}

function valueAt(parent: Stored | Json[], key: string): Json | undefined {
  if (Array.isArray(parent)) return isPosition(key) ? parent[Number(key)] : undefined
  return Object.hasOwn(parent, key) ? parent[key] : undefined
}

function listAt(operator: string, parent: Stored | Json[], key: string, path: string): Json[] {
  if (!has(parent, key)) put(parent, key, [])
  const value = valueAt(parent, key)
  if (!Array.isArray(value)) throw unfit(operator, path, value, "a list")
  return value
}

const isPosition = (key: string): boolean => /^(?:0|[1-9]\d{0,8})$/.test(key)

function unfit(operator: string, path: string, value: Json | undefined, wanted: string): AppError {
  const shown = JSON.stringify(value)?.slice(0, 80)
  return new AppError("failed_precondition", `${operator} of ${JSON.stringify(path)}: the stored value ${shown} is not ${wanted}.`, {
    reason: "value_type_mismatch",
    fields: [{ path, message: `is not ${wanted}` }],
  })
}
