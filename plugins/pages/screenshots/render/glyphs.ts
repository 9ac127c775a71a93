// Which scripts of a page the machine has no font for: their letters come out blank or as boxes, and a picture alone does
// not tell that from an empty page. One letter of each script in the text is drawn and compared with how a code point is
// drawn that no font has.
import type { Page } from "playwright-core"

const scripts = [
  "Han",
  "Hiragana",
  "Katakana",
  "Hangul",
  "Arabic",
  "Hebrew",
  "Devanagari",
  "Bengali",
  "Tamil",
  "Telugu",
  "Thai",
  "Greek",
  "Cyrillic",
  "Georgian",
  "Armenian",
  "Ethiopic",
  "Khmer",
  "Myanmar",
  "Sinhala",
]
const maxText = 200_000

const look = `(() => {
  const text = (document.body?.innerText ?? "").slice(0, ${maxText})
  const canvas = document.createElement("canvas")
  canvas.width = canvas.height = 40
  const context = canvas.getContext("2d", { willReadFrequently: true })
  const drawn = (letter) => {
    context.clearRect(0, 0, 40, 40)
    context.font = "24px sans-serif"
    context.fillText(letter, 4, 30)
    return context.getImageData(0, 0, 40, 40).data.join()
  }
  const blank = new Set([drawn("\\u{10FFFD}"), drawn("\\u{EFFFD}"), drawn("")])
  const kinds = ${JSON.stringify(scripts)}.map((name) => [name, new RegExp("\\\\p{Script=" + name + "}", "u")])
  kinds.push(["Emoji", /\\p{Emoji_Presentation}/u])
  return kinds.flatMap(([name, pattern]) => {
    const letter = pattern.exec(text)?.[0]
    return letter !== undefined && blank.has(drawn(letter)) ? [name] : []
  })
})()`

/** Warnings, none where everything can be drawn or the page does not let itself be looked at. */
export async function missingGlyphs(page: Page): Promise<string[]> {
  const missing = await page.evaluate<string[]>(look).catch(() => [])
  if (missing.length === 0) return []
  return [
    `missing_glyphs: No font on this machine covers ${missing.join(", ")}; the text is blank or boxes in the image. Install fonts such as Noto.`,
  ]
}
