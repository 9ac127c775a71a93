// The primary tag of an Accept-Language header (RFC 9110 section 12.5.4): the most wanted language, without its region.
// Remembered, since few headers make most of the traffic.

const tag = /^[a-z]{2,3}$/

const maxRemembered = 1_024
const remembered = new Map<string, string>()

export function languageOf(header: string): string {
  if (header === "") return ""
  const known = remembered.get(header)
  if (known !== undefined) return known
  const language = maxWanted(header)
  if (remembered.size >= maxRemembered) remembered.clear()
  if (header.length <= 512) remembered.set(header, language)
  return language
}

function maxWanted(header: string): string {
  let best = ""
  let bestQuality = 0
  for (const part of header.slice(0, 512).split(",")) {
    const [range = "", ...parameters] = part.trim().split(";")
    const primary = range.trim().split("-", 1)[0]?.toLowerCase() ?? ""
    const quality = qualityOf(parameters)
    if (tag.test(primary) && quality > bestQuality) {
      best = primary
      bestQuality = quality
    }
  }
  return best
}

function qualityOf(parameters: readonly string[]): number {
  const given = parameters
    .map((parameter) => /^\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*$/i.exec(parameter)?.[1])
    .find((value) => value !== undefined)
  return given === undefined ? 1 : Number(given)
}
