// What the start prints: the address, the organization, and the key, the one time it is shown.
import type { Bootstrap } from "./first-start.ts"

/** Only a terminal shows the key if a file has it: logs keep what is written to them. */
export function greeting(bootstrap: Bootstrap, baseUrl: string, isTerminal: boolean): string {
  bootstrap.listening(baseUrl)
  const { organization, adminKey, file } = bootstrap
  const lines = [
    "",
    "Millrace is listening.",
    `  base address   ${baseUrl}`,
    `  organization   ${organization?.slug ?? ""} (${organization?.id ?? ""})`,
  ]
  if (adminKey !== null && (isTerminal || !file))
    lines.push(`  admin key      ${adminKey}`, `                 shown this once${file ? `; also in ${file}` : ""}`)
  else if (file) lines.push(`  admin key      in ${file}`)
  return lines.join("\n")
}
