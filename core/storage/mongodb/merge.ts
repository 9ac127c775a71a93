// A merge write as two aggregation-pipeline updates. The first inserts a missing document, and is usually sufficient. The second
// gives each column the value with the highest position, in any order of arrival. `position` belongs to the last writer.
// `column_positions` contains only columns with an older last writer.
import type { NewestWinsWrite } from "../../contract/store.ts"
import { AppError } from "../../kernel/errors.ts"
import type { Bson } from "./values.ts"

/** Inserts the encoded document, and leaves an existing document unchanged. Throws `invalid_argument` for invalid column names. */
export function makeUpdate({ collection, position }: NewestWinsWrite, encoded: Bson): Bson[] {
  for (const column of Object.keys(encoded["values"] as Bson)) checkColumn(collection.name, column)
  const absent = { $eq: [{ $type: "$values" }, "missing"] }
  const fresh = { ...encoded, position, column_positions: {} }
  return [{ $replaceWith: { $cond: [absent, { $literal: fresh }, "$$ROOT"] } }]
}

/** Returns the update of an existing document. */
export function mergeUpdate({ position }: NewestWinsWrite, encoded: Bson): Bson[] {
  const values = encoded["values"] as Bson
  const columns = Object.keys(values)
  const wins = (column: string): Bson => ({
    $or: [{ $eq: [{ $type: `$values.${column}` }, "missing"] }, { $lt: [writtenAt(column), position] }],
  })
  const won = (column: string, value: Bson): Bson => ({ $cond: [wins(column), { $literal: value }, {}] })
  const newest = { $max: ["$position", position] }
  const merged = {
    values: { $mergeObjects: ["$values", ...columns.map((column) => won(column, { [column]: values[column] }))] },
    column_positions: older(newest, [
      positionOfEach,
      { $ifNull: ["$column_positions", {}] },
      ...columns.map((column) => won(column, { [column]: position })),
    ]),
    position: newest,
    created_at: { $min: ["$created_at", { $literal: encoded["created_at"] }] },
    updated_at: { $max: ["$updated_at", { $literal: encoded["updated_at"] }] },
  }
  return [{ $replaceWith: { $mergeObjects: ["$$ROOT", merged] } }]
}

function writtenAt(column: string): Bson {
  return { $ifNull: [`$column_positions.${column}`, "$position", ""] }
}

/** Every stored column with the position of the document's last writer. */
const positionOfEach: Bson = {
  $arrayToObject: {
    $map: { input: { $objectToArray: "$values" }, as: "column", in: { k: "$$column.k", v: { $ifNull: ["$position", ""] } } },
  },
}

/** Filters merged positions to those older than the newest. */
function older(newest: Bson, positions: unknown[]): Bson {
  return {
    $arrayToObject: {
      $filter: { input: { $objectToArray: { $mergeObjects: positions } }, as: "column", cond: { $ne: ["$$column.v", newest] } },
    },
  }
}

function checkColumn(collection: string, column: string): void {
  if (column !== "" && !column.includes(".") && !column.startsWith("$") && column !== "__proto__") return
  const message = 'a column name may not be empty, hold ".", start with "$" or be "__proto__"'
  throw new AppError("invalid_argument", `${collection}: column ${JSON.stringify(column)} cannot be merged: ${message}.`, {
    reason: "invalid_fields",
    collection,
    fields: [{ path: `values.${column}`, message }],
  })
}
