// Recognizes columns of mail addresses, phone numbers, names and time zones by the words of the column name. Supports many
// languages. Pure.
import { otherTerms, termsByLanguage } from "./person-column-terms.ts"

export type PersonField = "email" | "phone" | WholeName
/** Fields whose term is the whole column name. */
type WholeName = (typeof wholeNames)[number]
const wholeNames = ["name", "firstName", "lastName", "timeZone"] as const

export interface PersonColumn {
  /** undefined: the column names no person. */
  readonly field: PersonField | undefined
  /** Words beside the term: 1 for "work email". The column with the fewest is about the person of the row. */
  readonly extraWords: number
}

const columns = new Map<string, PersonColumn>()
const maxKnown = 10_000
const maxLength = 200

/** Reads a column name. Repeated names are cached, since each written row asks. */
export function personColumn(name: string): PersonColumn {
  const match = columns.get(name)
  if (match) return match
  const column = recognized(wordsOf(name))
  if (columns.size >= maxKnown) columns.clear()
  columns.set(name, column)
  return column
}

/** Lower-case words without accents and hidden characters. Text in parentheses is dropped: "Email (required)". */
function wordsOf(name: string): string[] {
  const plain = name
    .slice(0, maxLength)
    .normalize("NFKC")
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, "")
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, "$1 $2")
  const outside = plain.replaceAll(/\([^()]*\)|\[[^[\]]*\]|【[^】]*】|<[^<>]*>|「[^」]*」/g, " ")
  const words = split(outside)
  return words.length > 0 ? words : split(plain)
}

function split(text: string): string[] {
  return (
    text
      .toLowerCase()
      .normalize("NFD")
      // Accents. The sound marks of Japanese are letters of their own.
      .replaceAll(/[^\P{M}\u3099\u309A]/gu, "")
      .normalize("NFC")
      .replaceAll("ı", "i")
      // "n°" and "№" are numbers.
      .replaceAll(/\bn[°º]/g, "no ")
      // "Eメール": a new script starts a word.
      .replaceAll(/(\p{Script=Latin})(?=[\p{Script=Han}\p{Script=Katakana}\p{Script=Hiragana}])/gu, "$1 ")
      .replaceAll(/([\p{Script=Han}\p{Script=Katakana}\p{Script=Hiragana}ー])(?=\p{Script=Latin})/gu, "$1 ")
      .split(/[^\p{L}]+/u)
      .filter((word) => word !== "")
  )
}

type Meaning = "email" | "phone" | "other"

const meanings = new Map<string, Meaning>()
const names = new Map<string, WholeName>()
const [possessives, addresses, qualifiers, marks] = [new Set<string>(), new Set<string>(), new Set<string>(), new Set<string>()]
for (const terms of Object.values(termsByLanguage)) {
  for (const kind of ["email", "phone"] as const) for (const term of joined(terms[kind])) meanings.set(term, kind)
  for (const kind of wholeNames) for (const term of joined(terms[kind])) names.set(term, kind)
  for (const term of joined(terms.address)) addresses.add(term)
  for (const term of joined(terms.mark)) marks.add(term)
  for (const word of split(terms.qualifier ?? "")) qualifiers.add(word)
  for (const word of split(terms.possessive ?? "")) possessives.add(word)
}
for (const term of joined(otherTerms)) meanings.set(term, "other")
const maxTermWords = 4

/** "e mail, mail" as `email` and `mail`. */
function joined(terms: string | undefined): string[] {
  return (terms ?? "").split(",").flatMap((term) => split(term).join("") || [])
}

function recognized(all: readonly string[]): PersonColumn {
  const words = [...all]
  while (words.length > 1 && marks.has(words.at(-1) ?? "")) words.pop()
  while (words.length > 1 && possessives.has(words[0] ?? "")) words.shift()
  const name = names.get(words.join(""))
  if (name) return { field: name, extraWords: 0 }
  // A term may hold a qualifier: "teléfono móvil". So the whole name is read first, then a shorter one.
  for (let extraWords = 0; words.length > 0; ) {
    const term = termAtEnd(words)
    if (term?.meaning === "other") break
    if (term)
      return { field: term.meaning, extraWords: extraWords + words.slice(0, -term.length).filter((word) => !addresses.has(word)).length }
    const last = words.pop() ?? ""
    if (qualifiers.has(last)) extraWords++
    else if (!addresses.has(last)) break
  }
  return { field: undefined, extraWords: 0 }
}

/** The longest term that ends the words. Languages without spaces have terms that end a word. */
function termAtEnd(words: readonly string[]): { readonly meaning: Meaning; readonly length: number } | undefined {
  for (let length = Math.min(maxTermWords, words.length); length > 0; length--) {
    const meaning = meanings.get(words.slice(-length).join(""))
    if (meaning) return { meaning, length }
  }
  const last = words.at(-1) ?? ""
  if (!/[\p{Script=Han}\p{Script=Katakana}\p{Script=Hangul}]$|ー$/u.test(last)) return undefined
  const address = [...addresses].find((candidate) => last.length > candidate.length && last.endsWith(candidate))
  const ends = [last.slice(1), ...(address === undefined ? [] : [last.slice(0, -address.length)])]
  for (const end of ends) {
    for (let from = 0; from < end.length; from++) {
      const meaning = meanings.get(end.slice(from))
      if (meaning) return { meaning, length: 1 }
    }
  }
  return undefined
}
