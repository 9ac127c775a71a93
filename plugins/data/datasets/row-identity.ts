// Which row a write is about, and when it was written: derived, so that a retry and a replay write the same row at the
// same position, not another one. Pure.
import { AppError, derivedUuid, derivedUuidInOrder, type Json } from "#core"

/** Where a row comes from: the execution (or call) that first wrote it, the step in it, the item in the step. */
export interface RowOrigin {
  /** UUIDv7. */
  readonly executionId: string
  readonly stepId: string
  readonly itemIndex: number
  /** RFC 3339 in UTC with milliseconds. */
  readonly receivedAt: string
  /** Slug; absent where no pipeline wrote it. */
  readonly pipeline?: string
}

/** UUIDv8 of organization, dataset and key, and of the scope's value where there is one. 42 and "42" are one key: forms send text where programs send numbers. */
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

/** Ordered as its execution is: the time prefix of its UUIDv7. */
export function unkeyedRowId({ executionId, stepId, itemIndex }: RowOrigin): string {
  return derivedUuidInOrder(executionId, stepId, String(itemIndex))
}

/** For the rows of one call: sorted by id, they have the order of the call. */
export function batchRowId(origin: RowOrigin): string {
  const id = unkeyedRowId(origin)
  // The twelve bits after the version of the UUID.
  return id.slice(0, 15) + origin.itemIndex.toString(16).padStart(3, "0") + id.slice(18)
}

/** Comparable as text. `ordinal` tells the keyed writes of one execution apart: the later one is the newer. */
export function positionOf({ receivedAt, executionId }: RowOrigin, ordinal: number): string {
  const position = `${receivedAt} ${executionId}`
  return ordinal === 0 ? position : `${position} ${String(ordinal).padStart(6, "0")}`
}

/** The execution (or call) that wrote a row last; rows without a key do not tell. */
export function executionOf({ position }: { readonly position?: string }): string | undefined {
  return position?.split(" ", 2)[1]
}
