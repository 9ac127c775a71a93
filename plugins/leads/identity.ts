// By what a person is known: a mail address or a phone number, in its one spelling; and where a row holds them.
import { domainToASCII } from "node:url"
import { type CountryCode, parsePhoneNumberFromString } from "libphonenumber-js"
import type { Json } from "#core"
import { e164Of } from "../conversations/index.ts"
import { isMailAddress } from "../email/index.ts"
import { isTimeZone } from "../organizations/index.ts"

const identityKinds = ["email", "phone"] as const

export interface Identity {
  readonly kind: (typeof identityKinds)[number]
  readonly value: string
}

const maxLength = 320

/** Lower case, NFC, the domain in punycode; undefined for what is not a mail address. */
export function normalEmail(text: string): string | undefined {
  const trimmed = text.trim()
  if (trimmed.length > maxLength || !isMailAddress(trimmed)) return undefined
  const at = trimmed.lastIndexOf("@")
  const domain = domainToASCII(trimmed.slice(at + 1))
  return domain === "" ? undefined : `${trimmed.slice(0, at).normalize("NFC").toLowerCase()}@${domain}`
}

/**
 * E.164; undefined for what is not a number, or is written without a country code where no region is known. With its country
 * code, a number may be of a range that is not known yet: who wrote from it can be answered.
 */
export function normalPhone(text: string, region: string): string | undefined {
  if (text.length > 40) return undefined
  const plain = text.normalize("NFKC").trim()
  const number = parsePhoneNumberFromString(plain, region === "" ? undefined : (region as CountryCode))
  const isNumber = number?.isValid() || (plain.startsWith("+") && number?.isPossible())
  if (isNumber) return number?.ext ? undefined : number?.number
  return plain.startsWith("+") ? e164Of(plain) : undefined
}

/** What a row says of one person. */
export interface PersonInRow {
  readonly email: string | undefined
  readonly phone: string | undefined
  readonly name: string
  /** IANA. */
  readonly time_zone: string | undefined
}

type ColumnKind = "email" | "phone" | undefined

/** What a column's name says. */
interface Column {
  readonly kind: ColumnKind
  /** In lower case, with a space between them. */
  readonly words: string
  readonly wordCount: number
}

const known = new Map<string, Column>()
const maxKnown = 10_000

/** Whether a row may name a person by its columns; runs with every row that is written. */
export function mayNamePerson(values: Readonly<Record<string, Json>>): boolean {
  for (const name in values) if (columnOf(name).kind !== undefined) return true
  return false
}

/** The first valid address and number: those in columns that are called nothing else, before those of `work_email` and the like. */
export function personIn(values: Readonly<Record<string, Json>>, region: string): PersonInRow {
  const first = (kind: ColumnKind, read: (text: string) => string | undefined) => {
    const columns = Object.keys(values).filter((name) => columnOf(name).kind === kind)
    // A row that names two people is about the one whose columns have the plain names.
    const plainFirst = columns.sort((a, b) => columnOf(a).wordCount - columnOf(b).wordCount)
    for (const name of plainFirst) {
      const value = values[name]
      const found = typeof value === "string" || typeof value === "number" ? read(String(value)) : undefined
      if (found !== undefined) return found
    }
    return undefined
  }
  const email = first("email", normalEmail)
  const phone = first("phone", (text) => normalPhone(text, region))
  return { email, phone, name: nameIn(values), time_zone: timeZoneIn(values) }
}

function nameIn(values: Readonly<Record<string, Json>>): string {
  const byWords = new Map(Object.keys(values).map((name) => [columnOf(name).words, values[name]]))
  const text = (...names: string[]) => names.map((name) => byWords.get(name)).find((value) => typeof value === "string") ?? ""
  const whole = text("name", "full name")
  const parts = [text("first name", "firstname", "given name"), text("last name", "lastname", "family name", "surname")]
  return String(whole || parts.filter((part) => part !== "").join(" "))
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, 200)
    .toWellFormed()
}

function timeZoneIn(values: Readonly<Record<string, Json>>): string | undefined {
  const named = Object.keys(values).filter((name) => /^(?:time ?zone|tz)$/.test(columnOf(name).words))
  return named.map((name) => values[name]).find((value): value is string => typeof value === "string" && isTimeZone(value))
}

function columnOf(name: string): Column {
  const found = known.get(name)
  if (found) return found
  const words = wordsOf(name)
  const column = { kind: kindOf(words), words: words.join(" "), wordCount: words.length }
  if (known.size >= maxKnown) known.clear()
  known.set(name, column)
  return column
}

function kindOf(words: readonly string[]): ColumnKind {
  const last = /^(?:addr(?:ess)?|number|no|nr)$/.test(words.at(-1) ?? "") ? words.at(-2) : words.at(-1)
  if (/^e?mail(?:addr(?:ess)?)?$/.test(last ?? "")) return "email"
  return /^(?:tel|telephone|phone|phonenumber|mobile|mobilephone|cell|cellphone|handy|telefon|whatsapp)$/.test(last ?? "")
    ? "phone"
    : undefined
}

function wordsOf(column: string): string[] {
  return column
    .slice(0, 200)
    .replaceAll(/([a-z])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter((word) => word !== "")
}
