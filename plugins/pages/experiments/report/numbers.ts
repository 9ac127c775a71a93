// Number and time formats of the report, for the exported page and the console.

/** Formats a share with its significant digits: 12.5%, 3.4%, 0.28%. */
export function percentText(share: number): string {
  const percent = share * 100
  return `${percent.toFixed(Math.abs(percent) >= 1 || percent === 0 ? 1 : 2)}%`
}

/** Formats a tick of an axis with round steps. */
export function percentTick(share: number): string {
  return `${Number((share * 100).toPrecision(4))}%`
}

export function strengthText(value: number): string {
  const text = value.toFixed(2)
  return (text === "-0.00" ? "0.00" : text).replace("-", "−")
}

/** Returns the text of a value, or a dash without a value. */
export function orDash<T>(value: T | null | undefined, write: (value: T) => string = String): string {
  return value === null || value === undefined ? "–" : write(value)
}

export function scoreText(value: number): string {
  return value.toFixed(2)
}

export function intervalText(low: number | null | undefined, high: number | null | undefined, write: (value: number) => string): string {
  return orDash(low, (from) => orDash(high, (to) => `${write(from)} to ${write(to)}`))
}

/** In UTC. */
export function timeText(at: string): string {
  return `${at.slice(0, 10)} ${at.slice(11, 16)} UTC`
}

export function countText(count: number): string {
  return count.toLocaleString("en-US")
}

export function plural(count: number, singular: string, more = `${singular}s`): string {
  return `${countText(count)} ${count === 1 ? singular : more}`
}
