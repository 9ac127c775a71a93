// Addresses of people: phone numbers in one form, and the user IDs of a chat app.
import { parsePhoneNumberFromString } from "libphonenumber-js/max"
import { z } from "zod"

/** E.164 of a number with a country code; undefined for what cannot be one. A `+` that a query string made a space is one. */
export function e164Of(text: string): string | undefined {
  // Numbers that are copied from an address book may stand between marks of direction, which nobody sees.
  const plain = text.normalize("NFKC").replace(/\p{Default_Ignorable_Code_Point}/gu, "")
  const digits = plain
    .trim()
    .replace(/^tel:/i, "")
    .replace(/[\s()./-]/g, "")
  const written = digits.startsWith("+") ? digits : `+${digits}`
  const number = parsePhoneNumberFromString(written)
  if (number?.isPossible()) return number.number
  // As a chat app writes some: not one to dial, but the person who wrote from it can be answered.
  return parsePhoneNumberFromString(personKey(written))?.isPossible() ? written : undefined
}

/** A user ID of WhatsApp: it names a person without a phone number, to one business alone. It starts with a country code. */
const userId = /^([A-Z]{2})\.(?:ENT\.)?[A-Za-z0-9]{1,128}$/

export function isUserId(address: string): boolean {
  return userId.test(address)
}

/** ISO 3166 code of a user ID; undefined for a phone number. */
export function countryOfUserId(address: string): string | undefined {
  return userId.exec(address)?.[1]
}

/** As a provider says it: E.164 without its sign, or written for people. Not held against the plan of numbers: what wrote can be answered. */
export function plus(text: string): string {
  const digits = text.replace(/\D/g, "")
  return digits === "" ? text : `+${digits}`
}

/**
 * The same for each way to write one mobile number: in Mexico, Argentina and Brazil a chat app may leave out or add a digit
 * that numbers are dialled with. Brazil's fixed numbers, and mobile ones of later ranges, have one form. Not a number to write to.
 */
export function personKey(address: string): string {
  return address
    .replace(/^\+521(?=\d{10}$)/, "+52")
    .replace(/^\+549(?=\d{10}$)/, "+54")
    .replace(/^(\+55\d{2})9(?=[6-9]\d{7}$)/, "$1")
}

/** Every way to write a number that `personKey` takes for the same. */
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

/** Of a filter: one of these numbers, however it is written. */
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

/** A filter: other texts match nothing. */
export const NumberFilter = z
  .string()
  .max(140)
  .default("")
  .overwrite((text) => (text === "" || isUserId(text) ? text : (e164Of(text) ?? plus(text))))
