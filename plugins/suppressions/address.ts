// One address, one spelling: what counts as the same recipient on the suppression list.
import { domainToASCII } from "node:url"

/**
 * Lower case, NFC, the domain in punycode. What stands behind a plus and between dots stays: only the recipient's own
 * server knows whether it means anything.
 */
export function normalAddress(address: string): string {
  const at = address.lastIndexOf("@")
  return `${address.slice(0, at).normalize("NFC").toLowerCase()}@${domainToASCII(address.slice(at + 1)).replace(/\.$/, "")}`
}
