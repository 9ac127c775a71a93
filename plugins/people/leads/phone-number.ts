// Reads phone numbers in common spellings: with an extension, with letters, as a `tel:` link, between hidden characters.
import { type CountryCode, type PhoneNumber, parsePhoneNumberFromString } from "libphonenumber-js/max"
import { personColumn } from "../../data/datasets/index.ts"
import { e164Of, formsOf } from "../conversations/index.ts"
import { visibleText } from "../email/index.ts"

const maxLength = 80

/**
 * Returns E.164, with `;ext=` for an extension. Returns undefined if the number is not valid in its country.
 * `region` is the default country for numbers without a country code. Placeholders, dates and order numbers do not count.
 */
export function validPhone(text: string, region: string): string | undefined {
  const written = plainNumber(text)
  if (written === undefined || isOther(written)) return undefined
  const number = parsed(written, region)
  if (number?.isValid && isDialled(number, written)) return spelled(number)
  const lettered = withoutLetters(written)
  const byLetters = lettered === undefined ? undefined : parsed(lettered, region)
  return byLetters?.isValid ? spelled(byLetters) : undefined
}

/**
 * As `validPhone`. With a country code, also accepts numbers of an unassigned range or in a chat app's form. A reply to such a
 * number works.
 */
export function normalPhone(text: string, region: string): string | undefined {
  const valid = validPhone(text, region)
  if (valid !== undefined) return valid
  const written = plainNumber(text)
  if (!written?.startsWith("+")) return undefined
  const number = parsed(written, "")
  return number?.isPossible ? spelled(number) : e164Of(written)
}

/** Removes hidden characters, the scheme of a link and a label: "Tel.:". Returns undefined for long text. */
function plainNumber(text: string): string | undefined {
  if (text.length > maxLength) return undefined
  const visible = visibleText(text)
    .normalize("NFKC")
    .trim()
    .replace(/^(?:tel|callto|sms|whatsapp):/i, "")
    .replace(/^\+?00(?=[1-9])/, "+")
  const [, label, rest] = /^(\p{L}[\p{L}\s./-]*?)[\s.:]+(?=[+\d(])(.*)$/u.exec(visible) ?? []
  const number = label !== undefined && rest !== undefined && personColumn(label).field === "phone" ? rest : visible
  return number.replace(extensionWord, " ext. $1")
}

/** Words for an extension unknown to the library. */
const extensionWord =
  /[\s,;/(-]+(?:durchwahl|dw|nebenstelle|apparat|app|poste|ramal|interno|dahili|toestel|wewn?|内線|分机|分機|내선)[.:\s]*(\d{1,7})\)?$/iu

interface ReadNumber extends Pick<PhoneNumber, "number" | "ext" | "nationalNumber"> {
  readonly isValid: boolean
  readonly isPossible: boolean
  /** In the national format of its country. */
  readonly national: string
}

function parsed(text: string, region: string): ReadNumber | undefined {
  const read = parsePhoneNumberFromString(text, region === "" ? undefined : (region as CountryCode))
  if (!read) return undefined
  const { number, ext, nationalNumber } = read
  // A chat app adds or omits a digit in some numbers.
  const isValid = read.isValid() || formsOf(number).some((form) => parsePhoneNumberFromString(form)?.isValid())
  return { number, nationalNumber, ...(ext ? { ext } : {}), isValid, isPossible: read.isPossible(), national: read.formatNational() }
}

function spelled({ number, ext }: ReadNumber): string {
  return ext ? `${number};ext=${ext}` : number
}

/** Digit limit for numbers without a trunk prefix. People omit the prefix by mistake, and order numbers are about this long. */
const maxBareDigits = 8

/** Returns false for few digits without country code and trunk prefix: "20240001" would be a number of Germany. */
function isDialled(number: ReadNumber, text: string): boolean {
  const national = number.nationalNumber
  if (text.startsWith("+") || national.length > maxBareDigits) return true
  const trunk = digitsOf(number.national).slice(0, -national.length)
  return trunk === "" || digitsOf(text).startsWith(trunk)
}

const [upwards, downwards] = ["01234567890123456789", "98765432109876543210"]
const year = "(?:19|20)\\d\\d"
const month = "(?:0?[1-9]|1[0-2])"
const day = "(?:0?[1-9]|[12]\\d|3[01])"
const date = new RegExp(
  `^(?:${year}[-./ ]${month}[-./ ]${day}|${day}[-./ ]${month}[-./ ]${year}|${month}[-./ ]${day}[-./ ]${year}|${year}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\\d|3[01])(?:\\d{4}|\\d{6})?)(?:[T ]|$)`,
)

/** Returns true for placeholders (12345, 0000000), dates and references (RE-2024-0001). */
function isOther(text: string): boolean {
  const digits = digitsOf(text)
  return (
    digits.length < 3 ||
    /^(\d)\1*$/.test(digits) ||
    upwards.includes(digits) ||
    downwards.includes(digits) ||
    date.test(text) ||
    /^[^\d+]*\p{L}[-_#/]?\d/u.test(text)
  )
}

function digitsOf(text: string): string {
  return text.replace(/\D/g, "")
}

const keys = ["", "", "abc", "def", "ghi", "jkl", "mno", "pqrs", "tuv", "wxyz"]

/**
 * Converts "1-800-FLOWERS" to digits as a phone does. Returns undefined for text without letters. A phone ignores keys after the
 * last digit.
 */
function withoutLetters(text: string): string | undefined {
  if (!/^\+?[\d\s().-]{3,}[A-Za-z][A-Za-z\d\s.-]*$/.test(text) || !/(?:[A-Za-z][\s.-]?){3}/.test(text)) return undefined
  const digits = text.replace(/[A-Za-z]/g, (letter) => String(keys.findIndex((key) => key.includes(letter.toLowerCase()))))
  const isNorthAmerican = /^\+?1[\s.-]/.test(text)
  return isNorthAmerican ? `+${digitsOf(digits).slice(0, 11)}` : digits
}
