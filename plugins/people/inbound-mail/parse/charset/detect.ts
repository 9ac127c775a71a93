// Finds the charset of bytes without a usable label, by other labels of the message and by letters of languages.
import { detectAll } from "jschardet"
import { decodeAs, isMultiByte, labelOf } from "./labels.ts"

/** Limit of analyzed bytes. */
const maxSample = 16_384
/** Minimum confidence for Chinese, Japanese and Korean. Below this value a label of another part is preferred. */
const sure = 0.1

/** Charsets common in mail. The detector supports many others. */
const detectEncodings = [
  "GB18030",
  "Big5",
  "CP932",
  "EUC-JP",
  "CP949",
  "KOI8-R",
  "KOI8-U",
  "Windows-1250",
  "Windows-1251",
  "Windows-1252",
  "Windows-1253",
  "Windows-1254",
  "Windows-1255",
  "Windows-1256",
  "Windows-1257",
  "Windows-1258",
  "ISO-8859-2",
  "ISO-8859-5",
  "CP874",
]

/** Letters of two scripts in a word indicate a wrong guess. */
const mixedWord = /[A-Za-z][\u0370-\u06ff\u0e00-\u0e7f]|[\u0370-\u06ff\u0e00-\u0e7f][A-Za-z]|[a-z][\u3400-\u9fff\uac00-\ud7af]{1,2}[a-z]/

/** Returns the text and its charset, or undefined if no charset fits. `hints`: labels of other parts. */
export function decodeByContent(bytes: Uint8Array, hints: readonly string[]): { text: string; label: string } | undefined {
  const fitting = (label: string) => {
    const text = decodeAs(label, bytes)
    return text === undefined || mixedWord.test(text) ? undefined : { text, label }
  }
  const first = (labels: readonly string[]) => {
    for (const label of labels) {
      const found = fitting(label)
      if (found) return found
    }
    return undefined
  }
  const named = hints.map(labelOf).filter((label) => label !== "" && label !== "utf-8")
  const byHint = first(named.filter(isMultiByte))
  if (byHint) return byHint
  const guesses = detectAll(bytes.subarray(0, maxSample), { detectEncodings, minimumThreshold: 0 }).flatMap(({ encoding, confidence }) =>
    encoding === null || encoding === "ascii" ? [] : [{ label: labelOf(encoding), confidence }],
  )
  const eastern = guesses.filter(({ label, confidence }) => isMultiByte(label) && confidence >= sure).slice(0, 1)
  return first([...eastern.map(({ label }) => label), ...named, ...guesses.map(({ label }) => label), "windows-1252"])
}
