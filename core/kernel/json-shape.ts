// Looks over JSON text before it is parsed. What JSON.parse takes depends on the text's shape far more than on its length:
// a megabyte of records of one kind takes 20 ms, one of names that are all different 300 ms, in which nobody else is
// served; checking, storing and refusing it take as long again.
import { AppError } from "./errors.ts"

/** What there is too much of, such as "objects and lists". */
interface Excess {
  readonly of: string
  readonly limit: number
  /** They are nested in each other, deeper than any input may be. */
  readonly isDeep?: boolean
}

/** Objects and lists in one text. */
const maxContainers = 25_000
/** Different field names in one text. */
const maxNames = 5_000

/** Levels of an input, itself counted. */
export const maxLevels = 100

/** Shorter text cannot reach a bound. */
export const minExcessLength = Math.min(maxNames * 6, maxContainers * 2)

const codes = { quote: 34, comma: 44, colon: 58, backslash: 92, openList: 91, closeList: 93, openObject: 123, closeObject: 125 }

/** What there is too much of in the text; undefined where it may be parsed. Text that is not JSON passes; parsing refuses it. `maxFields` is of one object. */
export function excessOf(text: string, maxFields = Number.POSITIVE_INFINITY): Excess | undefined {
  if (text.length < Math.min(minExcessLength, maxFields * 4)) return undefined
  const counts = new Counts(maxFields)
  for (let at = 0; at < text.length && counts.excess === undefined; at++) {
    switch (text.charCodeAt(at)) {
      case codes.quote: {
        const end = endOfString(text, at)
        if (isName(text, end + 1)) counts.name(text.slice(at + 1, end))
        at = end
        break
      }
      case codes.openObject:
        counts.opens(0)
        break
      case codes.openList:
        counts.opens(-1)
        break
      case codes.closeObject:
      case codes.closeList:
        counts.closes()
        break
      case codes.comma:
        counts.comma()
    }
  }
  return counts.excess
}

class Counts {
  excess: Excess | undefined
  readonly #names = new Set<string>()
  #containers = 0
  /** Commas seen in each open object; -1 for a list. */
  readonly #open: number[] = []
  readonly #maxFields: number

  constructor(maxFields: number) {
    this.#maxFields = maxFields
  }

  name(name: string): void {
    this.#names.add(name)
    if (this.#names.size > maxNames) this.excess = { of: "different field names", limit: maxNames }
  }

  opens(commas: 0 | -1): void {
    this.#open.push(commas)
    if (++this.#containers <= maxContainers) return
    const isDeep = this.#open.length > maxLevels
    this.excess = { of: "objects and lists", limit: maxContainers, ...(isDeep ? { isDeep } : {}) }
  }

  closes(): void {
    this.#open.pop()
  }

  comma(): void {
    const last = this.#open.length - 1
    const count = this.#open[last] ?? -1
    if (count < 0) return
    if (count + 2 > this.#maxFields) this.excess = { of: "fields in one object", limit: this.#maxFields }
    this.#open[last] = count + 1
  }
}

/** Whether a colon follows, behind spaces. */
export function isName(text: string, from: number): boolean {
  let at = from
  if (text.charCodeAt(at) === codes.colon) return true
  while (text.charCodeAt(at) <= 32) at++
  return text.charCodeAt(at) === codes.colon
}

/** Position of the closing quote; the text's length where there is none. */
export function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0
    while (text.charCodeAt(end - 1 - backslashes) === codes.backslash) backslashes++
    if (backslashes % 2 === 0) return end
  }
  return text.length
}

/** What a body is refused with, by any reader of bodies, for what it holds too much of (json-shape.ts). */
export function tooComplex({ of, limit, isDeep = false }: Excess): AppError {
  if (isDeep) return tooDeep()
  return new AppError("invalid_argument", `The body has more than ${limit} ${of}; send it in parts.`, { reason: "body_too_complex", limit })
}

export function tooDeep(): AppError {
  return new AppError("invalid_argument", `The input is nested more than ${maxLevels} levels deep.`, {
    reason: "body_too_deep",
    limit: maxLevels,
  })
}
