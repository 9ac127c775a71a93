// Whether a message asks to be left alone, or to be written to again. Only a message that says nothing else counts: a
// sentence in which such a word stands ("where does the bus stop?") is one to be read, not a keyword.
import type { Channel } from "../channels.ts"
import { fillers, optInPhrases, optOutPhrases, textMessagePhrases, tonalLanguages } from "./phrases.ts"

/** Longer than any phrase with what may stand around it. */
const maxLength = 120

export function keywordIn(text: string, channel: Channel): "opt_out" | "opt_in" | undefined {
  if (text.length > maxLength) return undefined
  const said = withoutFillers(wordsOf(text)).join(" ")
  if (said === "") return undefined
  if (optOut.has(said) || (channel === "sms" && textMessages.has(said))) return "opt_out"
  return optIn.has(said) ? "opt_in" : undefined
}

/** "Stooop", "stoppp": with a letter twice, as in "stoop", it may be another word. */
const drawnOut = /^s+t+(?:o{3,}p+|o+p{2,})$/

/** Lower case, without punctuation, symbols, emoji and what nobody sees (marks of direction, of width zero); letters that stand alone, as in S.T.O.P., are one word. */
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

/** Each phrase, and as it is typed without accents; in a tonal language that would be another word. */
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
