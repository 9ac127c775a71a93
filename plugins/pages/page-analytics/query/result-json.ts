// JSON form of each engine type in answers.
//
// | type | form |
// |---|---|
// | BOOLEAN, VARCHAR, ENUM, UUID | true or false, text |
// | integers of any width | a number up to 2^53 - 1, beyond it the digits as text |
// | DECIMAL | a number if a double holds all its digits (15 at most), otherwise the digits as text |
// | FLOAT, DOUBLE | a number; NaN, Infinity and -Infinity as these texts |
// | DATE | "2026-11-20" |
// | TIMESTAMP of any precision, with or without time zone | RFC 3339 in UTC with milliseconds, more digits only if not zero |
// | TIME | "10:00:00" with its fraction, if any |
// | INTERVAL | ISO 8601 duration, "P1M2DT3.5S" |
// | BLOB | base64 |
// | BIT | its zeros and ones as text |
// | LIST, ARRAY | a list |
// | STRUCT | an object; includes a member `__proto__`, since query processes remove that accessor (query-process.ts) |
// | MAP | a list of [key, value] |
// | UNION, VARIANT | its value |
// | JSON | text, as the engine has it |
//
// An infinite date or time is "infinity" or "-infinity".
import {
  DuckDBArrayValue,
  DuckDBBlobValue,
  DuckDBDateValue,
  DuckDBDecimalValue,
  DuckDBIntervalValue,
  DuckDBListValue,
  DuckDBMapValue,
  DuckDBStructValue,
  DuckDBTimestampMillisecondsValue,
  DuckDBTimestampNanosecondsValue,
  DuckDBTimestampSecondsValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  type DuckDBType,
  DuckDBUnionValue,
  type DuckDBValue,
  DuckDBVariantValue,
} from "@duckdb/node-api"

export function typeName(type: DuckDBType): string {
  return type.alias ?? type.toString()
}

export function jsonOf(value: DuckDBValue): unknown {
  if (value === null || typeof value === "boolean" || typeof value === "string") return value
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value)
  if (typeof value === "bigint") return jsonOfInteger(value)
  if (value instanceof DuckDBUnionValue || value instanceof DuckDBVariantValue) return jsonOf(value.value)
  return jsonOfNested(value) ?? jsonOfMoment(value) ?? String(value)
}

function jsonOfNested(value: object): unknown {
  if (value instanceof DuckDBListValue || value instanceof DuckDBArrayValue) return value.items.map(jsonOf)
  if (value instanceof DuckDBStructValue) {
    return Object.fromEntries(Object.entries(value.entries).map(([name, inner]) => [name, jsonOf(inner)]))
  }
  if (value instanceof DuckDBMapValue) return value.entries.map(({ key, value: inner }) => [jsonOf(key), jsonOf(inner)])
  if (value instanceof DuckDBBlobValue) return Buffer.from(value.bytes).toString("base64")
  if (value instanceof DuckDBDecimalValue) return jsonOfDecimal(value.toString())
  return undefined
}

function jsonOfMoment(value: object): unknown {
  if (value instanceof DuckDBIntervalValue) return duration(value)
  if (value instanceof DuckDBDateValue && !value.isFinite) return value.days > 0 ? "infinity" : "-infinity"
  if (value instanceof DuckDBTimestampValue || value instanceof DuckDBTimestampTZValue) return instant(value.micros, 1_000n, value)
  if (value instanceof DuckDBTimestampMillisecondsValue) return instant(value.millis, 1_000_000n, value)
  if (value instanceof DuckDBTimestampSecondsValue) return instant(value.seconds, 1_000_000_000n, value)
  if (value instanceof DuckDBTimestampNanosecondsValue) return instant(value.nanos, 1n, value)
  return undefined
}

function jsonOfInteger(value: bigint): number | string {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value.toString()
}

function jsonOfDecimal(digits: string): number | string {
  return digits.replace(/^-?0*\.?0*|\./g, "").length <= 15 ? Number(digits) : digits
}

const furthest = 253_402_300_799_999n

/** Timestamp of any unit. The library's own text supports only microseconds. */
const infinite = 2n ** 63n - 1n

function instant(count: bigint, nanosEach: bigint, value: object): string {
  if (count === infinite) return "infinity"
  if (count === -infinite) return "-infinity"
  const nanos = count * nanosEach
  const millis = nanos >= 0n ? nanos / 1_000_000n : -((-nanos + 999_999n) / 1_000_000n)
  // Outside the years of RFC 3339, returns the engine's own text.
  if (millis > furthest || millis < -62_135_596_800_000n) return String(value)
  const below = String(nanos - millis * 1_000_000n)
    .padStart(6, "0")
    .replace(/0+$/, "")
  return new Date(Number(millis)).toISOString().replace("Z", `${below}Z`)
}

/** ISO 8601. Months, days and time each have their own sign. */
function duration({ months, days, micros }: DuckDBIntervalValue): string {
  const size = micros < 0n ? -micros : micros
  const fraction = String(size % 1_000_000n)
    .padStart(6, "0")
    .replace(/0+$/, "")
  const seconds = `${micros < 0n ? "-" : ""}${size / 1_000_000n}${fraction && `.${fraction}`}`
  const date = `${months === 0 ? "" : `${months}M`}${days === 0 ? "" : `${days}D`}`
  return micros === 0n && date !== "" ? `P${date}` : `P${date}T${seconds}S`
}
