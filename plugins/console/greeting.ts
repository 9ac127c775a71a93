// The lines about the console that a start prints: its address, and a link for the first owner.
import type { Bootstrap } from "../platform/organizations/index.ts"

/** Only a terminal shows the link: logs keep what is written to them. Browsers send the part behind `#` to nobody. */
export function greeting(
  { isUnclaimed }: Pick<Bootstrap, "isUnclaimed">,
  link: () => string,
  baseUrl: string,
  isTerminal: boolean,
): string {
  const address = `${baseUrl}/console`
  if (!isUnclaimed) return `  console        ${address}`
  if (!isTerminal) return `  console        ${address}\n                 print a link for the first owner: millrace sign-in-link --owner`
  return `  console        ${address}#code=${link()}\n                 names the first owner and signs in once, within ten minutes`
}
