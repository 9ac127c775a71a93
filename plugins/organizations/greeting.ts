// What the start prints: the address, the organization, and the key, the one time it is shown.
import type { Bootstrap } from "./first-start.ts"

export function greeting(bootstrap: Bootstrap, baseUrl: string): string {
  bootstrap.listening(baseUrl)
  const { organization, adminKey, file } = bootstrap
  const lines = [
    "",
    "Millrace is listening.",
    `  base address   ${baseUrl}`,
    `  organization   ${organization?.slug ?? ""} (${organization?.id ?? ""})`,
  ]
  if (adminKey !== null) lines.push(`  admin key      ${adminKey}`, `                 shown this once${file ? `; also in ${file}` : ""}`)
  else if (file) lines.push(`  admin key      in ${file}`)
  return lines.join("\n")
}
