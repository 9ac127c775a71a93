// Derives the ID and position of a row write. A retry or replay therefore writes the same row at the same position. Pure.
import { AppError, derivedUuid, derivedUuidInOrder, type Json } from "#core"

/** Origin of a row: the execution (or call) that first wrote it, the step, and the item in the step. */
export interface RowOrigin {
  /** UUIDv7. */
  readonly executionId: string
  readonly stepId: string
  readonly itemIndex: number
  /** RFC 3339 in UTC with milliseconds. */
  readonly receivedAt: string
  /** Slug. Absent if the row was not written by a pipeline. */
  readonly pipeline?: string
}

/**
 * UUIDv8 of organization, dataset, key and optional scope value. The number 42 and the text "42" are the same key. Forms send
 * text, programs send numbers.
 */
export function keyedRowId(
  organization: string,
  dataset: { id: string; slug: string },
  column: string,
  values: Readonly<Record<string, Json>>,
  scope?: string,
): string {
  const value = Object.hasOwn(values, column) ? values[column] : undefined
  const within = scope === undefined ? undefined : String(values[scope] ?? "")
  if (typeof value === "string" && value !== "") return rowIdOf(organization, dataset.id, value, within)
  if (typeof value === "number" || typeof value === "boolean") return rowIdOf(organization, dataset.id, String(value), within)
  const problem =
    value === undefined
      ? "is missing"
      : typeof value === "object" && value !== null
        ? "is an object or a list"
        : value === ""
          ? "is empty"
          : "is null"
  const message = `The key column "${column}" of the dataset "${dataset.slug}" ${problem}; it identifies rows, so it must hold text or a number.`
  throw new AppError("invalid_argument", message, { reason: "key_missing", fields: [{ path: column, message }], retryable: false })
}

export function rowIdOf(organization: string, datasetId: string, key: string, within: string | undefined): string {
  return within === undefined ? derivedUuid(organization, datasetId, key) : derivedUuid(organization, datasetId, within, key)
}

/** Sorts like the execution, by the time prefix of its UUIDv7. */
export function unkeyedRowId({ executionId, stepId, itemIndex }: RowOrigin): string {
  return derivedUuidInOrder(executionId, stepId, String(itemIndex))
}

/** IDs for the rows of one call. They sort in the order of the call. */
export function batchRowId(origin: RowOrigin): string {
  const id = unkeyedRowId(origin)
  // The twelve bits after the version of the UUID.
  return id.slice(0, 15) + origin.itemIndex.toString(16).padStart(3, "0") + id.slice(18)
}

/** Comparable as text. `ordinal` orders the keyed writes of one execution: a later write is newer. */
export function positionOf({ receivedAt, executionId }: RowOrigin, ordinal: number): string {
  const position = `${receivedAt} ${executionId}`
  return ordinal === 0 ? position : `${position} ${String(ordinal).padStart(6, "0")}`
}

/** Returns the execution (or call) of the last write. Rows without a key do not record it. */
export function executionOf({ position }: { readonly position?: string }): string | undefined {
  return position?.split(" ", 2)[1]
}
