// The fields of a report's machine-readable part: groups of `Name: value` lines with empty lines between (RFC 3464, RFC 5965).

/** Values by name in lower case; of a repeated field the first. */
export type ReportFields = ReadonlyMap<string, string>

const maxGroups = 200
const maxValue = 2_000

export function fieldGroups(text: string): ReportFields[] {
  const groups: Map<string, string>[] = []
  let group: Map<string, string> | undefined
  let last = ""
  for (const line of text.split(/\r?\n/)) {
    if (line.trim() === "") {
      group = undefined
      continue
    }
    if (group && /^[ \t]/.test(line)) {
      group.set(last, `${group.get(last) ?? ""} ${line.trim()}`.slice(0, maxValue))
      continue
    }
    const colon = line.indexOf(":")
    if (colon < 1) continue
    if (!group) {
      if (groups.length === maxGroups) return groups
      group = new Map()
      groups.push(group)
    }
    last = line.slice(0, colon).trim().toLowerCase()
    if (!group.has(last))
      group.set(
        last,
        line
          .slice(colon + 1)
          .trim()
          .slice(0, maxValue),
      )
  }
  return groups
}

/** The address of a typed field, such as `rfc822; ada@example.com`, or of one without a type; empty where there is none. */
export function addressIn(value: string | undefined): string {
  const [, type = "rfc822", text = ""] = /^(?:\s*([\w-]+)\s*;)?(.*)$/s.exec(value ?? "") ?? []
  const plain = text.trim().replace(/^<([^<>]*)>$/, "$1")
  // RFC 6533 section 3.
  return type.toLowerCase() === "utf-8" ? plain.replace(/\\x\{([0-9A-F]{2,6})\}/gi, (_, code: string) => characterOf(code)) : plain
}

function characterOf(code: string): string {
  const point = Number.parseInt(code, 16)
  return point > 31 && point <= 0x10ffff && !(point >= 0xd800 && point <= 0xdfff) ? String.fromCodePoint(point) : ""
}
