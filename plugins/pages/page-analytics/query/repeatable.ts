// Functions whose value is not told by the rows alone: those of the clock, which are given the time of the copy that is
// read, and those that draw at random.

export const clockTimes = ["now", "current_timestamp", "get_current_timestamp", "transaction_timestamp"]
export const clockDates = ["today", "current_date"]

/** Found in every query that calls one of them. */
export const namesClock = new RegExp(`\\b(?:${[...clockTimes, ...clockDates].join("|")})\\b`, "i")

const random = new Set(["random", "uuid", "gen_random_uuid", "reservoir_quantile"])

/** How the refusal of a query begins that a snapshot would not make the same. */
export const notRepeatable = "With a snapshot these are not supported, since they answer otherwise each time: "

/** A call whose answer the rows do not tell, as it is shown; undefined for any other. */
export function changingCall(name: string, schema: string, given: number): string | undefined {
  const isClock = clockTimes.includes(name) || clockDates.includes(name)
  // `age` of one time counts from today; `pg_catalog` is behind the clock that is set.
  if (random.has(name) || (name === "age" && given === 1) || (isClock && schema === "pg_catalog")) return `${name}()`
  return undefined
}
