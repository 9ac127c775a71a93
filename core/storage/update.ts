// Checks updates before any driver: documented operators, valid field paths, and a single operator per path. `id` and
// `organization_id` never change.
import type { Update } from "../contract/store.ts"
import { isPlainObject } from "../kernel/json.ts"
import { checkJson, checkPath, invalid } from "./filter.ts"

const fixedFields = new Set(["id", "_id", "organization_id"])

type CheckOperand = (collection: string, path: string, operand: unknown) => void

const operands: Record<keyof Update, CheckOperand> = {
  $set: checkJson,
  $setOnInsert: checkJson,
  $push: checkJson,
  $addToSet: checkJson,
  $pull: checkJson,
  $inc(collection, path, operand) {
    if (typeof operand !== "number" || !Number.isFinite(operand)) throw invalid(collection, path, "$inc needs a finite number")
  },
  $unset(collection, path, operand) {
    if (operand !== true) throw invalid(collection, path, "$unset needs true")
  },
}

/** Throws `invalid_argument` with collection and path. */
export function checkUpdate(collection: string, update: Update, upsert: boolean): void {
  if (!isPlainObject(update)) throw invalid(collection, "update", "is not an update; give an object of operators")
  const paths: string[] = []
  for (const [operator, changes] of Object.entries(update)) {
    const check = Object.hasOwn(operands, operator) ? operands[operator as keyof Update] : undefined
    if (!check) throw invalid(collection, operator, `is not an operator of an update; ${Object.keys(operands).join(", ")} are`)
    if (!isPlainObject(changes)) throw invalid(collection, operator, "needs an object of paths")
    if (operator === "$setOnInsert" && !upsert) throw invalid(collection, operator, "is only for updates with `upsert`")
    for (const [path, operand] of Object.entries(changes)) {
      checkPath(collection, path)
      const top = path.split(".", 1)[0] ?? path
      if (fixedFields.has(top)) throw invalid(collection, path, "cannot be changed: a document keeps its id and its organization")
      check(collection, path, operand)
      paths.push(path)
    }
  }
  if (Object.keys(update).length === 0) throw invalid(collection, "update", "is empty; give at least one operator")
  if (paths.length > 1) checkOverlap(collection, paths)
}

/** Two changes at the same path, or at a nested path, have no defined order. */
function checkOverlap(collection: string, paths: readonly string[]): void {
  const seen = new Set(paths)
  if (seen.size < paths.length)
    throw invalid(collection, paths.find((path, index) => paths.indexOf(path) !== index) ?? "", "is changed twice")
  for (const path of paths) {
    for (let dot = path.indexOf("."); dot !== -1; dot = path.indexOf(".", dot + 1)) {
      const above = path.slice(0, dot)
      if (seen.has(above)) throw invalid(collection, path, `is changed together with ${JSON.stringify(above)}, which holds it`)
    }
  }
}
