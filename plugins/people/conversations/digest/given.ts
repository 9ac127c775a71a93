// Finds a person's contact data without a model: addresses, numbers, and names after an announcing phrase. The last match wins.
import { findPhoneNumbersInText, parsePhoneNumberFromString } from "libphonenumber-js/max"
import type { Contact } from "../channels.ts"

const mail = /[\p{L}\p{N}._%+-]{1,64}@(?:[\p{L}\p{N}-]{1,63}\.){1,8}[\p{L}]{2,24}/gu

/** One to four words with a capital letter, or in a script without capitals. */
const words =
  "((?:[\\p{Lu}\\p{Lo}][\\p{L}\\p{M}'’.-]*)(?:[ ]+(?:(?:von|van|de|der|da|di|al|bin)[ ]+)?[\\p{Lu}\\p{Lo}][\\p{L}\\p{M}'’.-]*){0,3})"
/** One expression for all phrases. Compiling an expression per phrase blocked the main thread for 80 ms. */
const announced = (...before: string[]) => new RegExp(`(?<![\\p{L}])(?:${before.join("|")})[ :]+${words}`, "gu")

const names = announced(
  ...[
    "[Mm]y name is",
    "[Nn]ame:",
    "[Mm]y name's",
    "[Ii] am called",
    "[Mm]ein [Nn]ame ist",
    "[Ii]ch hei(?:ß|ss)e",
    "[Mm]e llamo",
    "[Mm]i nombre es",
  ],
  ...[
    "[Jj]e m['’]appelle",
    "[Mm]on nom est",
    "[Mm]i chiamo",
    "[Mm]eu nome é",
    "[Mm]e chamo",
    "[Ii]k heet",
    "[Mm]ijn naam is",
    "[Nn]azywam się",
  ],
  ...["[Jj]eg heter", "[Jj]ag heter", "[Mm]enim adım", "[Мм]еня зовут", "[Mm]oje jméno je"],
)
const companies = announced(
  ...["[Ii] work (?:at|for)", "[Mm]y company is", "[Cc]ompany:", "[Ii]ch arbeite bei", "[Mm]eine [Ff]irma (?:ist|heißt)", "[Ff]irma:"],
  ...["[Tt]rabajo en", "[Mm]i empresa es", "[Jj]e travaille chez", "[Ll]avoro per", "[Tt]rabalho na", "[Ii]k werk bij"],
)

/**
 * Returns contact data found in the messages. `texts`: the person's messages, oldest first. `address`: their number. Its country
 * is the default for numbers without a country code.
 */
export function givenIn(texts: readonly string[], address: string): Contact {
  const country = parsePhoneNumberFromString(address)?.country
  const email = last(texts, (text) => [...text.matchAll(mail)].map(([found]) => found))
  const phone = last(texts, (text) => findPhoneNumbersInText(text, country).map(({ number }) => number.number))
  const name = last(texts, (text) => afterAny(names, text))
  const company = last(texts, (text) => afterAny(companies, text))
  return {
    ...(company === undefined ? {} : { company }),
    ...(email === undefined ? {} : { email }),
    ...(name === undefined ? {} : { name }),
    ...(phone === undefined ? {} : { phone }),
  }
}

function afterAny(pattern: RegExp, text: string): string[] {
  return [...text.matchAll(pattern)].map(([, found = ""]) => found.replace(/[.,-]+$/, ""))
}

function last(texts: readonly string[], find: (text: string) => readonly string[]): string | undefined {
  return texts.flatMap(find).at(-1)
}
