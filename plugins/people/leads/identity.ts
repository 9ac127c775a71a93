// The normalized mail address or phone number that identifies a person.

import type { Json } from "#core"
import { personColumn } from "../../data/datasets/index.ts"
import { isTimeZone } from "../../platform/organizations/index.ts"
import { isMailAddress, normalAddress, visibleText } from "../email/index.ts"
import { validPhone } from "./phone-number.ts"

const identityKinds = ["email", "phone"] as const

export interface Identity {
  readonly kind: (typeof identityKinds)[number]
  readonly value: string
}

const maxLength = 320
/** Larger, because a link or a named address may be longer. */
const maxWrittenLength = 1_000

/**
 * Normalizes an address: lower case, NFC, the domain in punycode. Reads `mailto:` and `Name <address>`. Returns undefined for
 * text without a single address.
 */
export function normalEmail(text: string): string | undefined {
  if (text.length > maxWrittenLength) return undefined
  const visible = readable(text)
  const address = linked(/^[^<>]*<([^<>]*)>$/.exec(visible)?.[1]?.trim() ?? visible)
  return address.length <= maxLength && isMailAddress(address) ? normalAddress(address) : undefined
}

/** Returns the address of a `mailto:` link, or the text. */
function linked(text: string): string {
  if (!/^mailto:/i.test(text)) return text
  const encoded = text.slice("mailto:".length).replace(/\?.*$/s, "")
  try {
    return readable(decodeURIComponent(encoded))
  } catch {
    return encoded
  }
}

function readable(text: string): string {
  return visibleText(text.replaceAll("\u00A0", "")).trim()
}

type Values = Readonly<Record<string, Json>>

/** Personal data in a row, about a single person. */
export interface PersonInRow {
  readonly email: string | undefined
  readonly phone: string | undefined
  readonly name: string
  /** IANA. */
  readonly time_zone: string | undefined
}

/** Returns true if the columns of a row may name a person. Runs with every written row. */
export function mayNamePerson(values: Values): boolean {
  for (const name in values) {
    const { field } = personColumn(name)
    if (field === "email" || field === "phone") return true
  }
  return false
}

/** Returns the first valid address and number. Columns with the plain name precede columns such as `work_email`. */
export function personIn(values: Values, region: string): PersonInRow {
  const first = (kind: "email" | "phone", read: (text: string) => string | undefined) => {
    const columns = Object.keys(values).filter((name) => personColumn(name).field === kind)
    // A row with two people is about the person of the plain columns.
    const plainFirst = columns.sort((a, b) => personColumn(a).extraWords - personColumn(b).extraWords)
    for (const name of plainFirst) {
      const value = values[name]
      const found = typeof value === "string" || typeof value === "number" ? read(String(value)) : undefined
      if (found !== undefined) return found
    }
    return undefined
  }
  const email = first("email", normalEmail)
  const phone = first("phone", (text) => validPhone(text, region))
  return { email, phone, name: nameIn(values), time_zone: timeZoneIn(values) }
}

function nameIn(values: Values): string {
  const texts = new Map<string, string>()
  for (const [name, value] of Object.entries(values)) {
    const { field } = personColumn(name)
    if (field !== undefined && typeof value === "string" && value.trim() !== "" && !texts.has(field)) texts.set(field, value.trim())
  }
  const [whole = "", firstName = "", lastName = ""] = ["name", "firstName", "lastName"].map((field) => texts.get(field))
  // In many languages the column "name" contains a part of the name, beside a column for the other part.
  const parts = [whole.includes(firstName) || lastName ? "" : firstName, whole, whole.includes(lastName) || firstName ? "" : lastName]
  return (whole === "" ? [firstName, lastName] : parts)
    .filter((part) => part !== "")
    .join(" ")
    .replace(/\s+/g, " ")
    .slice(0, 200)
    .toWellFormed()
}

function timeZoneIn(values: Values): string | undefined {
  for (const [name, value] of Object.entries(values)) {
    if (personColumn(name).field === "timeZone" && typeof value === "string" && isTimeZone(value)) return value
  }
  return undefined
}
