// Finds scripts without a font on this machine. Their letters are blank or boxes, and the image alone looks like an empty page.
// Compares one letter of each script with the glyph of a code point missing from all fonts.
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

/** Returns warnings. Returns an empty list if all text can be drawn or the page blocks the check. */
export async function missingGlyphs(page: Page): Promise<string[]> {
  const missing = await page.evaluate<string[]>(look).catch(() => [])
  if (missing.length === 0) return []
  return [
    `missing_glyphs: No font on this machine covers ${missing.join(", ")}; the text is blank or boxes in the image. Install fonts such as Noto.`,
  ]
}
