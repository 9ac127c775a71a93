// Phone numbers: one form for all, the country that a number belongs to, and the time there.
import { parsePhoneNumberFromString } from "libphonenumber-js/max"
import { z } from "zod"

/** E.164 of a number with a country code; undefined for what cannot be one. A `+` that a query string made a space is one. */
export function e164Of(text: string): string | undefined {
  const digits = text.normalize("NFKC").replace(/[\s()./-]/g, "")
  return parsePhoneNumberFromString(digits.startsWith("+") ? digits : `+${digits}`)?.isPossible() ? plus(digits) : undefined
}

/** As a provider says it: E.164 without its sign, or written for people. Not held against the plan of numbers: what wrote can be answered. */
export function plus(text: string): string {
  const digits = text.replace(/\D/g, "")
  return digits === "" ? text : `+${digits}`
}

export const E164 = z
  .string()
  .max(40)
  .refine((text) => e164Of(text) !== undefined, "expected a phone number with its country code, such as +49 30 901820")
  .overwrite((text) => e164Of(text) ?? text)

/** A filter: other texts match nothing. */
export const NumberFilter = z
  .string()
  .max(40)
  .default("")
  .overwrite((text) => (text === "" ? "" : (e164Of(text) ?? plus(text))))
