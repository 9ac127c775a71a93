// Phrases are frequent pieces of JSON in a collection, mainly field names. The file's text has a single character for each
// phrase. JSON text has no control characters, so control characters except white space are free for this. The file stores the
// phrase of each character, because a declaration or its order may change.
import type { DatabaseSync } from "node:sqlite"
import type { CollectionSpec } from "../../contract/collection.ts"

/** Phrases by character code. Plain data, because it passes to threads. */
export type Phrases = readonly (string | undefined)[]

/** Without tab, line feed and carriage return. */
const codes = Array.from({ length: 31 }, (_, at) => at + 1).filter((code) => ![9, 10, 13].includes(code))
const ofPhrases = new RegExp(`[${String.fromCharCode(1)}-${String.fromCharCode(31)}]`, "g")

/** Assigns a character to each declared phrase while characters are free. An assigned character never changes. */
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

/** Replaces each phrase at most once, in declaration order, in a single pass through the text. */
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

/** Restores the phrases of a text. */
export function lengthened(text: string, phrases: Phrases): string {
  return phrases.length === 0 ? text : text.replace(ofPhrases, (character) => phrases[character.charCodeAt(0)] ?? character)
}
