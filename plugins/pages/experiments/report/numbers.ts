// Numbers and times as the report writes them.

/** As many digits as a share has to tell: 12.5%, 3.4%, 0.28%. */
export function percentText(share: number): string {
  const percent = share * 100
  return `${percent.toFixed(Math.abs(percent) >= 1 || percent === 0 ? 1 : 2)}%`
}

/** Of an axis, whose steps are round. */
export function percentTick(share: number): string {
  return `${Number((share * 100).toPrecision(4))}%`
}

export function strengthText(value: number): string {
  const text = value.toFixed(2)
  return (text === "-0.00" ? "0.00" : text).replace("-", "−")
}

/** UTC. */
export function timeText(at: string): string {
  return `${at.slice(0, 10)} ${at.slice(11, 16)} UTC`
}

export function plural(count: number, one: string, more = `${one}s`): string {
  return `${count.toLocaleString("en-US")} ${count === 1 ? one : more}`
}
