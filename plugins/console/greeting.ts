// What a start prints of the console: its address, and at the first start a link that signs in once.
import type { Bootstrap, Sessions } from "../organizations/index.ts"

/** The code stands after `#`, which browsers send to nobody. Only a terminal shows it: a file of logs keeps what it is given. */
export function greeting({ adminKey }: Bootstrap, sessions: Sessions, baseUrl: string, isTerminal: boolean): string {
  const address = `${baseUrl}/console`
  if (adminKey === null || !isTerminal) return `  console        ${address}`
  return `  console        ${address}#code=${sessions.code(adminKey)}\n                 signs in once, within ten minutes`
}
