// IPv4 and IPv6 addresses as other formats hold them.
import { fullFormats } from "ajv-formats/dist/formats.js"

const ipv4 = fullFormats.ipv4 as RegExp
const ipv6 = fullFormats.ipv6 as RegExp

export function isIpv4(text: string): boolean {
  return ipv4.test(text)
}

export function isIpv6(text: string): boolean {
  return ipv6.test(text)
}
