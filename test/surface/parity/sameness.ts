// Whether two organizations were answered the same: equal but for what each has of its own. Ids, secrets and cursors may
// differ where each of one stands for exactly one of the other, throughout; times where both are times.

const time = /\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z/
/** UUIDs, endpoints, keys, digests, cursors, signatures: long words without a space. */
const own = /[\w+/=-]{16,}(?:\.[\w+/=-]{4,})*/
const opaque = new RegExp(`${time.source}|${own.source}`, "g")
/** What a clock measured, and what is noted when there is time: how far the copy of page events is, and what follows from it. */
const passing = /(?:^|\.)timings\.|(?:^|\.)stopping\.days$|(?:^|\.)(?:as_of|series)$|(?:^|[._])(?:duration_ms|retry_after_s|last_used_at)$/
const passingText = /^The copy of the page's events is behind/
/** Nobody chose such a word: a digit in it, or capitals in its midst. */
const drawn = /\d|[a-z][A-Z]/

export class Sameness {
  readonly #there = new Map<string, string>()
  readonly #back = new Map<string, string>()

  /** Names of one organization and what the other calls the same. */
  constructor(names: readonly (readonly [string, string])[]) {
    for (const [one, other] of names) this.#pair(one, other)
  }

  /** Two more names for the same. */
  name(one: string, other: string): void {
    this.#pair(one, other)
  }

  /** The first difference, with its place; undefined where there is none. */
  difference(one: unknown, other: unknown, path = ""): string | undefined {
    if (passing.test(path)) return undefined
    if (typeof one === "string" && typeof other === "string") {
      return this.#texts(one, other) ? undefined : `${path}: ${JSON.stringify(one)} and ${JSON.stringify(other)}`
    }
    if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) {
      return Object.is(one, other) ? undefined : `${path}: ${JSON.stringify(one)} and ${JSON.stringify(other)}`
    }
    if (Array.isArray(one) !== Array.isArray(other)) return `${path}: a list and none`
    if (Array.isArray(one) && Array.isArray(other)) return this.#objects({ ...one.filter(stays) }, { ...other.filter(stays) }, path)
    return this.#objects(one as Record<string, unknown>, other as Record<string, unknown>, path)
  }

  #objects(one: Record<string, unknown>, other: Record<string, unknown>, path: string): string | undefined {
    const left = Object.keys(one)
    const right = Object.keys(other)
    if (left.length !== right.length) return `${path}: ${left.join(", ")} and ${right.join(", ")}`
    for (const [index, name] of left.entries()) {
      const twin = Object.hasOwn(other, name) ? name : right[index]
      if (twin === undefined || (twin !== name && !this.#texts(name, twin))) return `${path}: ${left.join(", ")} and ${right.join(", ")}`
      const found = this.difference(one[name], other[twin], path === "" ? name : `${path}.${name}`)
      if (found) return found
    }
    return undefined
  }

  #texts(first: string, second: string): boolean {
    const [one, other] = [first, second].map((text) => text.replaceAll(/\b\d+(?:\.\d+)? ms\b/g, "… ms")) as [string, string]
    if (one === other || this.#there.get(one) === other) return true
    const words = one.match(opaque) ?? []
    const twins = other.match(opaque) ?? []
    const [rest, twinRest] = [this.#named(one.replaceAll(opaque, "…")), other.replaceAll(opaque, "…")]
    return rest === twinRest && words.length === twins.length && words.every((word, index) => this.#word(word, twins[index] ?? ""))
  }

  #word(one: string, other: string): boolean {
    const wholeTime = new RegExp(`^${time.source}$`)
    if (wholeTime.test(one) || wholeTime.test(other)) return wholeTime.test(one) && wholeTime.test(other)
    return one === other || (drawn.test(one) && drawn.test(other) && this.#pair(one, other)) || this.#named(one) === other
  }

  /** With the names that are known already put into the other's words. */
  #named(text: string): string {
    let named = text
    for (const [one, other] of this.#there) if (named.includes(one)) named = named.replaceAll(one, other)
    return named
  }

  #pair(one: string, other: string): boolean {
    const [known, back] = [this.#there.get(one), this.#back.get(other)]
    if (known !== undefined || back !== undefined) return known === other && back === one
    this.#there.set(one, other)
    this.#back.set(other, one)
    return true
  }
}

function stays(item: unknown): boolean {
  return typeof item !== "string" || !passingText.test(item)
}
