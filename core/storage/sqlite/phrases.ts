// Phrases: pieces of JSON that most documents of a collection repeat, the names of their fields above all, of which the
// text in the file has one character each. JSON has no control characters in its text, so those that are not white space
// are free for it. Which of them stands for which phrase is kept in the file: a declaration may change, or another order.
import type { DatabaseSync } from "node:sqlite"
import type { CollectionSpec } from "../../contract/collection.ts"

/** By the code of the character that stands for each; plain data, since it passes to threads. */
export type Phrases = readonly (string | undefined)[]

/** Without tab, line feed and carriage return. */
const codes = Array.from({ length: 31 }, (_, at) => at + 1).filter((code) => ![9, 10, 13].includes(code))
const ofPhrases = new RegExp(`[${String.fromCharCode(1)}-${String.fromCharCode(31)}]`, "g")

/** Gives each phrase that is declared now a character, as long as there are any; what a character stands for never changes. */
export function layOutPhrases(database: DatabaseSync, { name, phrases = [] }: CollectionSpec): void {
  if (phrases.length === 0) return
  const known = phrasesOf(database, name)
  const free = codes.filter((code) => known[code] === undefined)
  const add = database.prepare("INSERT INTO _phrases(collection,code,phrase) VALUES(?,?,?)")
  for (const phrase of phrases) {
    if (known.includes(phrase)) continue
    const code = free.shift()
    if (code !== undefined) add.run(name, code, phrase)
  }
}

export function createPhrases(database: DatabaseSync): void {
  database.exec(
    "CREATE TABLE IF NOT EXISTS _phrases(collection TEXT NOT NULL, code INTEGER NOT NULL, phrase TEXT NOT NULL, PRIMARY KEY(collection,code))",
  )
}

export function phrasesOf(database: DatabaseSync, collection: string): Phrases {
  return allPhrases(database).get(collection) ?? []
}

/** By collection. */
export function allPhrases(database: DatabaseSync): ReadonlyMap<string, Phrases> {
  const all = new Map<string, (string | undefined)[]>()
  for (const { collection, code, phrase } of database.prepare("SELECT collection,code,phrase FROM _phrases").all()) {
    const phrases = all.get(String(collection)) ?? []
    phrases[Number(code)] = String(phrase)
    all.set(String(collection), phrases)
  }
  return all
}

/** Puts characters in the place of phrases, each once, where they stand in the order of their declaration: one walk through the text. */
export function shortener({ phrases = [] }: CollectionSpec, known: Phrases): (text: string) => string {
  const sought = phrases.flatMap((phrase) =>
    known.includes(phrase) ? [{ phrase, character: String.fromCharCode(known.indexOf(phrase)) }] : [],
  )
  return (text) => {
    let short = ""
    let from = 0
    for (const { phrase, character } of sought) {
      const at = text.indexOf(phrase, from)
      if (at < 0) continue
      short += text.slice(from, at) + character
      from = at + phrase.length
    }
    return short + text.slice(from)
  }
}

/** The text again. */
export function lengthened(text: string, phrases: Phrases): string {
  return phrases.length === 0 ? text : text.replace(ofPhrases, (character) => phrases[character.charCodeAt(0)] ?? character)
}
