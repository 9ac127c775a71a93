// Checks Unicode labels of host names: the derivation of RFC 5892 from Unicode properties, its contextual rules, and the
// direction rule of RFC 5893. Scripts replace the direction classes, because JavaScript does not expose them.

const letters = /^[\p{Ll}\p{Lu}\p{Lo}\p{Nd}\p{Lm}\p{Mn}\p{Mc}]$/u
const ignorable = /^[\p{Default_Ignorable_Code_Point}\p{White_Space}\p{Noncharacter_Code_Point}\u1100-\u11ff\ua960-\ua97c\ud7b0-\ud7fb]$/u
const allowed = new Set("-\u00df\u03c2\u06fd\u06fe\u0f0b\u3007")
const refused = new Set("\u0640\u07fa\u302e\u302f\u3031\u3032\u3033\u3034\u3035\u303b")
const viramas =
  /^[\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d3b\u0d3c\u0d4d\u0dca\u0e3a\u0eba\u0f84\u1039\u103a\u1714\u1734\u17d2\u1a60\u1b44\u1baa\u1bab\u1bf2\u1bf3\u2d7f\ua806\ua8c4\ua953\ua9c0\uaaf6\uabed]$/
const rightToLeft =
  /(?![\u06f0-\u06f9])[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Samaritan}\p{Script=Mandaic}\p{Script=Adlam}]/u
const arabicDigit = /[\u0660-\u0669]/
const europeanDigit = /[0-9\u06f0-\u06f9]/
const digitFirst = /^[0-9\u0660-\u0669\u06f0-\u06f9]/
const joiningLeft = /[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Nko}\p{Script=Mongolian}]\p{Mn}*$/u
const joiningRight = /^\p{Mn}*[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Nko}\p{Script=Mongolian}]/u

/** Checks a label with non-ASCII characters. */
export function isUnicodeLabel(label: string): boolean {
  if (label.normalize("NFC") !== label || /^-|-$|^..--/u.test(label) || /^\p{M}/u.test(label)) return false
  const chars = Array.from(label)
  return chars.every((char, i) => isAllowed(char) || fitsContext(char, chars.slice(0, i).join(""), chars.slice(i + 1).join(""), label))
}

function isAllowed(char: string): boolean {
  if (allowed.has(char)) return true
  if (refused.has(char) || /[\u0660-\u0669\u06f0-\u06f9\u30fb]/.test(char)) return false
  return letters.test(char) && !ignorable.test(char) && char.normalize("NFKC").toLowerCase().normalize("NFKC") === char
}

/** RFC 5892, appendix A. */
function fitsContext(char: string, before: string, after: string, label: string): boolean {
  switch (char) {
    case "\u00b7":
      return before.endsWith("l") && after.startsWith("l")
    case "\u0375":
      return /^\p{Script=Greek}/u.test(after)
    case "\u05f3":
    case "\u05f4":
      return /\p{Script=Hebrew}$/u.test(before)
    case "\u30fb":
      return /[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]/u.test(label.replaceAll("\u30fb", ""))
    case "\u200d":
      return viramas.test(before.slice(-1))
    case "\u200c":
      return viramas.test(before.slice(-1)) || (joiningLeft.test(before) && joiningRight.test(after))
  }
  if (arabicDigit.test(char)) return !/[\u06f0-\u06f9]/.test(label)
  return /[\u06f0-\u06f9]/.test(char) && !arabicDigit.test(label)
}

/** Returns true if the labels of a name mix directions against RFC 5893, section 2. */
export function breaksBidiRule(labels: readonly string[]): boolean {
  if (!labels.some((label) => rightToLeft.test(label) || arabicDigit.test(label))) return false
  return labels.some((label) => {
    if (digitFirst.test(label)) return true
    const [first = ""] = Array.from(label)
    const isRight = rightToLeft.test(first)
    if (!isRight) return rightToLeft.test(label) || arabicDigit.test(label)
    if (arabicDigit.test(label) && europeanDigit.test(label)) return true
    const others = label.replace(/[\p{M}\p{N}-]/gu, "")
    return Array.from(others).some((char) => /\p{L}/u.test(char) && !rightToLeft.test(char))
  })
}
