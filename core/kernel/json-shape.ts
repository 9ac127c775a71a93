// Checks the shape of JSON text before parsing. The cost of JSON.parse depends more on shape than on length. A megabyte of
// similar records takes 20 ms, a megabyte of distinct names 300 ms. The main thread is blocked during this time. Checking,
// storing and refusing the value takes as long again.
import { AppError } from "./errors.ts"

/** An exceeded bound, such as the number of "objects and lists". */
interface Excess {
  readonly of: string
  readonly limit: number
  /** True if the nesting is deeper than any input may be. */
  readonly isDeep?: boolean
}

/** Maximum number of objects and lists in one text. */
const maxContainers = 25_000
/** Maximum number of different field names in one text. */
const maxNames = 5_000

/** Maximum levels of an input, including itself. */
export const maxLevels = 100

/** Shorter text cannot exceed a bound. */
export const minExcessLength = Math.min(maxNames * 6, maxContainers * 2)

const codes = { quote: 34, comma: 44, colon: 58, backslash: 92, openList: 91, closeList: 93, openObject: 123, closeObject: 125 }

/**
 * Returns the exceeded bound of a text, or undefined if it may be parsed. Invalid JSON passes, since parsing refuses it.
 * `maxFields` limits the fields of one object.
 */
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
  /** Commas in each open object; -1 for a list. */
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

/** Returns true if a colon follows, after optional spaces. */
export function isName(text: string, from: number): boolean {
  let at = from
  if (text.charCodeAt(at) === codes.colon) return true
  while (text.charCodeAt(at) <= 32) at++
  return text.charCodeAt(at) === codes.colon
}

/** Returns the position of the closing quote. Without one, returns the text's length. */
export function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0
    while (text.charCodeAt(end - 1 - backslashes) === codes.backslash) backslashes++
    if (backslashes % 2 === 0) return end
  }
  return text.length
}

/** Returns the error for a body that exceeds a bound of json-shape.ts. All readers of bodies use it. */
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
