// Looks over JSON text before it is parsed: an object of tens of thousands of names takes the main thread for as long as
// thousands of ordinary requests, in parsing, checking and refusing it.
import { AppError } from "../../kernel/errors.ts"

/** Fields that one object may have. */
const maxFields = 2_000

const codes = { quote: 34, comma: 44, backslash: 92, openList: 91, closeList: 93, openObject: 123, closeObject: 125 }

/** Throws `invalid_argument` where an object has too many fields. Text that is not JSON passes; parsing refuses it. */
export function refuseTooManyFields(text: string): void {
  // What is too short for so many fields need not be looked over.
  if (text.length < maxFields * 4) return
  /** Commas seen in each open object; -1 for a list. */
  const open: number[] = []
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === codes.quote) at = endOfString(text, at)
    else if (code === codes.openObject) open.push(0)
    else if (code === codes.openList) open.push(-1)
    else if (code === codes.closeObject || code === codes.closeList) open.pop()
    else if (code === codes.comma) {
      const count = open.at(-1) ?? -1
      if (count < 0) continue
      if (count + 2 > maxFields) throw tooMany()
      open[open.length - 1] = count + 1
    }
  }
}

/** Position of the closing quote; the text's length where there is none. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0
    while (text.charCodeAt(end - 1 - backslashes) === codes.backslash) backslashes++
    if (backslashes % 2 === 0) return end
  }
  return text.length
}

function tooMany(): AppError {
  return new AppError("invalid_argument", `An object in the body has more than ${maxFields} fields; no object may have more.`, {
    reason: "too_many_fields",
    max_fields: maxFields,
  })
}
