// Addresses of people: normalized phone numbers, and user IDs of a chat app.
import { parsePhoneNumberFromString } from "libphonenumber-js/max"
import { z } from "zod"

/**
 * Returns E.164 for a number with a country code, or undefined for an impossible number. Accepts a space in place of `+`, as
 * decoded from a query string.
 */
export function e164Of(text: string): string | undefined {
  // A number from an address book may contain invisible direction marks.
  const plain = text.normalize("NFKC").replace(/\p{Default_Ignorable_Code_Point}/gu, "")
  const digits = plain
    .trim()
    .replace(/^tel:/i, "")
    .replace(/[\s()./-]/g, "")
  const written = digits.startsWith("+") ? digits : `+${digits}`
  const number = parsePhoneNumberFromString(written)
  if (number?.isPossible()) return number.number
  // Some chat apps use a form that cannot be dialled. A reply to the person still works.
  return parsePhoneNumberFromString(personKey(written))?.isPossible() ? written : undefined
}

/** A WhatsApp user ID. It identifies a person without a phone number to a single business. It starts with a country code. */
const userId = /^([A-Z]{2})\.(?:ENT\.)?[A-Za-z0-9]{1,128}$/

export function isUserId(address: string): boolean {
  return userId.test(address)
}

/** Returns the ISO 3166 code of a user ID, or undefined for a phone number. */
export function countryOfUserId(address: string): string | undefined {
  return userId.exec(address)?.[1]
}

/**
 * Accepts a provider's format: E.164 without its sign, or formatted for people. Not validated against the numbering plan, since a
 * reply works.
 */
export function plus(text: string): string {
  const digits = text.replace(/\D/g, "")
  return digits === "" ? text : `+${digits}`
}

/**
 * Returns the same key for all spellings of a mobile number. In Mexico, Argentina and Brazil a chat app may omit or add a digit.
 * Brazil's fixed numbers and newer mobile ranges have a single form. Do not send to the key.
 */
export function personKey(address: string): string {
  return address
    .replace(/^\+521(?=\d{10}$)/, "+52")
    .replace(/^\+549(?=\d{10}$)/, "+54")
    .replace(/^(\+55\d{2})9(?=[6-9]\d{7}$)/, "$1")
}

/** Returns all spellings with the same `personKey`. */
export function formsOf(address: string): string[] {
  const key = personKey(address)
  const forms = [
    key,
    key.replace(/^\+52(?=\d{10}$)/, "+521"),
    key.replace(/^\+54(?=\d{10}$)/, "+549"),
    key.replace(/^(\+55\d{2})(?=[6-9]\d{7}$)/, (area) => `${area}9`),
  ]
  return [...new Set([address, ...forms])]
}

/** A filter for these numbers in any spelling. */
export function writtenAs(addresses: readonly string[]): string | { $in: string[] } {
  const forms = [...new Set(addresses.flatMap(formsOf))]
  const [only = "", ...others] = forms
  return others.length === 0 ? only : { $in: forms }
}

export const E164 = z
  .string()
  .max(40)
  .refine((text) => e164Of(text) !== undefined, "expected a phone number with its country code, such as +49 30 901820")
  .overwrite((text) => e164Of(text) ?? text)

/** A person's address: a phone number, or the user ID of a chat app. */
export const PersonAddress = z
  .string()
  .max(140)
  .refine(
    (text) => isUserId(text) || (text.length <= 40 && e164Of(text) !== undefined),
    "expected a phone number with its country code, such as +49 30 901820, or a WhatsApp user ID, such as DE.1349120865530",
  )
  .overwrite((text) => (isUserId(text) ? text : (e164Of(text) ?? text)))

/** A filter. Other texts match no number. */
export const NumberFilter = z
  .string()
  .max(140)
  .default("")
  .overwrite((text) => (text === "" || isUserId(text) ? text : (e164Of(text) ?? plus(text))))
