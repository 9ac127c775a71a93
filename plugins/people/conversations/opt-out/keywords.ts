// Detects opt-out and opt-in messages. The keyword must be the whole message. A sentence with the word ("where does the bus
// stop?") is not a keyword.
import type { Channel } from "../channels.ts"
import { fillers, optInPhrases, optOutPhrases, textMessagePhrases, tonalLanguages } from "./phrases.ts"

/** Longer than any phrase with fillers. */
const maxLength = 120

export function keywordIn(text: string, channel: Channel): "opt_out" | "opt_in" | undefined {
  if (text.length > maxLength) return undefined
  const said = withoutFillers(wordsOf(text)).join(" ")
  if (said === "") return undefined
  if (optOut.has(said) || (channel === "sms" && textMessages.has(said))) return "opt_out"
  return optIn.has(said) ? "opt_in" : undefined
}

/** "Stooop", "stoppp". A single doubled letter, as in "stoop", may be another word. */
const drawnOut = /^s+t+(?:o{3,}p+|o+p{2,})$/

/**
 * Returns words in lower case, without punctuation, symbols, emoji and invisible characters (direction marks, zero width). Joins
 * single letters, as in S.T.O.P.
 */
function wordsOf(text: string): string[] {
  const plain = text
    .normalize("NFKC")
    .toLowerCase()
    .replace(/\p{Default_Ignorable_Code_Point}|['’‘`´]/gu, "")
    .replace(/[\u0640\u064b-\u0652\u0670]/gu, "")
    .replace(/\u0307/gu, "")
    .replaceAll("ı", "i")
  const words = plain
    .split(/[^\p{L}\p{M}\p{N}]+/u)
    .filter((word) => /[\p{L}\p{N}]/u.test(word))
    .map((word) => (drawnOut.test(word) ? "stop" : word))
  const spelled = words.length > 2 && words.every((word) => /^[a-z]$/.test(word))
  return spelled ? [words.join("")] : words
}

function withoutFillers(words: readonly string[]): readonly string[] {
  for (const filler of polite) {
    const starts = words.length > filler.length && filler.every((word, index) => words[index] === word)
    if (starts) return withoutFillers(words.slice(filler.length))
    const from = words.length - filler.length
    if (from > 0 && filler.every((word, index) => words[from + index] === word)) return withoutFillers(words.slice(0, from))
  }
  return words
}

const polite = fillers.map(wordsOf)

/** Returns all phrases, also without accents. In a tonal language a word without accents is another word. */
function phraseSet(table: Readonly<Record<string, readonly string[]>>): ReadonlySet<string> {
  const forms = Object.entries(table).flatMap(([language, phrases]) =>
    phrases.flatMap((phrase) => {
      const said = wordsOf(phrase).join(" ")
      return tonalLanguages.has(language) ? [said] : [said, unaccented(said)]
    }),
  )
  return new Set(forms)
}

function unaccented(text: string): string {
  return text
    .normalize("NFD")
    .replace(/[\u0300-\u036f\u0653-\u0655]/gu, "")
    .replaceAll("ł", "l")
    .replaceAll("ø", "o")
    .normalize("NFC")
}

const optOut = phraseSet(optOutPhrases)
const textMessages = phraseSet(textMessagePhrases)
const optIn = phraseSet(optInPhrases)
