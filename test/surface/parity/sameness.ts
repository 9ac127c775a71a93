// Compares the answers of two organizations. Ids, secrets and cursors may differ if they correspond one to one throughout. Times
// may differ.

const time = /\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z/
/** UUIDs, endpoints, keys, digests, cursors, signatures: long words without a space. */
const own = /[\w+/=-]{16,}(?:\.[\w+/=-]{4,})*/
const opaque = new RegExp(`${time.source}|${own.source}`, "g")
/** Measured times and background data: the time of the page events copy, and values derived from it. */
const passing = /(?:^|\.)timings\.|(?:^|\.)stopping\.days$|(?:^|\.)(?:as_of|series)$|(?:^|[._])(?:duration_ms|retry_after_s|last_used_at)$/
const passingText = /^The copy of the page's events is behind/
/** Random words: with a digit, or with capitals in the middle. */
const drawn = /\d|[a-z][A-Z]/

export class Sameness {
  readonly #there = new Map<string, string>()
  readonly #back = new Map<string, string>()

  /** Corresponding names of the two organizations. */
  constructor(names: readonly (readonly [string, string])[]) {
    for (const [first, second] of names) this.#pair(first, second)
  }

  /** Adds a pair of corresponding names. */
  name(first: string, second: string): void {
    this.#pair(first, second)
  }

  /** Returns the first difference with its place, or undefined. */
  difference(first: unknown, second: unknown, path = ""): string | undefined {
    if (passing.test(path)) return undefined
    if (typeof first === "string" && typeof second === "string") {
      return this.#texts(first, second) ? undefined : `${path}: ${JSON.stringify(first)} and ${JSON.stringify(second)}`
    }
    if (typeof first !== "object" || typeof second !== "object" || first === null || second === null) {
      return Object.is(first, second) ? undefined : `${path}: ${JSON.stringify(first)} and ${JSON.stringify(second)}`
    }
    if (Array.isArray(first) !== Array.isArray(second)) return `${path}: a list and none`
    if (Array.isArray(first) && Array.isArray(second)) return this.#objects({ ...first.filter(stays) }, { ...second.filter(stays) }, path)
    return this.#objects(first as Record<string, unknown>, second as Record<string, unknown>, path)
  }

  #objects(first: Record<string, unknown>, second: Record<string, unknown>, path: string): string | undefined {
    const remainingNames = Object.keys(first)
    const right = Object.keys(second)
    if (remainingNames.length !== right.length) return `${path}: ${remainingNames.join(", ")} and ${right.join(", ")}`
    for (const [index, name] of remainingNames.entries()) {
      const twin = Object.hasOwn(second, name) ? name : right[index]
      if (twin === undefined || (twin !== name && !this.#texts(name, twin)))
        return `${path}: ${remainingNames.join(", ")} and ${right.join(", ")}`
      const difference = this.difference(first[name], second[twin], path === "" ? name : `${path}.${name}`)
      if (difference) return difference
    }
    return undefined
  }

  #texts(first: string, second: string): boolean {
    const [value, other] = [first, second].map((text) => text.replaceAll(/\b\d+(?:\.\d+)? ms\b/g, "… ms")) as [string, string]
    if (value === other || this.#there.get(value) === other) return true
    const words = value.match(opaque) ?? []
    const twins = other.match(opaque) ?? []
    const [remainder, twinRest] = [this.#mask(value.replaceAll(opaque, "…")), other.replaceAll(opaque, "…")]
    return remainder === twinRest && words.length === twins.length && words.every((word, index) => this.#word(word, twins[index] ?? ""))
  }

  #word(first: string, second: string): boolean {
    const wholeTime = new RegExp(`^${time.source}$`)
    if (wholeTime.test(first) || wholeTime.test(second)) return wholeTime.test(first) && wholeTime.test(second)
    return first === second || (drawn.test(first) && drawn.test(second) && this.#pair(first, second)) || this.#mask(first) === second
  }

  /** Replaces known names by the other organization's names. */
  #mask(text: string): string {
    let masked = text
    for (const [first, second] of this.#there) if (masked.includes(first)) masked = masked.replaceAll(first, second)
    return masked
  }

  #pair(one: string, second: string): boolean {
    const [existing, back] = [this.#there.get(one), this.#back.get(second)]
    if (existing !== undefined || back !== undefined) return existing === second && back === one
    this.#there.set(one, second)
    this.#back.set(second, one)
    return true
  }
}

function stays(item: unknown): boolean {
  return typeof item !== "string" || !passingText.test(item)
}
