// The columns stamped at ingestion (specification 2.11): given to a row only where it leaves them unset, that is absent
// or null. `is_test` has a rule of its own. Pure.
import type { Json } from "#core"

/** What every row has, whether or not it is written. */
export const stampedNames: readonly string[] = [
  ...["variant", "artifact_id", "page_url", "is_test", "device_type", "browser", "in_app", "language", "country", "region", "city"],
]

/** A copy of the row with what it lacks. A test marker wins over everything; a boolean of the row's own is next. */
export function stamped(row: Readonly<Record<string, Json>>, stamp: Readonly<Record<string, Json>>, marked: boolean): Record<string, Json> {
  const values: Record<string, Json> = { ...row }
  for (const name in stamp) {
    const value = stamp[name]
    if (value !== undefined && (values[name] === undefined || values[name] === null)) values[name] = value
  }
  values["is_test"] = marked || values["is_test"] === true
  return values
}
