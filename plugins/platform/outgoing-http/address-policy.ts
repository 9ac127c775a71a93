// Permitted addresses of outgoing calls: global unicast addresses, and hosts listed by the operator in `outgoing.allow_hosts`.
// All other ranges are refused: private, loopback, link-local, shared, multicast, reserved, and IPv6 forms with an embedded IPv4
// address. The check uses ranges instead of a list of known bad addresses.
import { BlockList } from "node:net"
import ipaddr from "ipaddr.js"

/** Metadata services of hosting platforms on public-looking addresses. */
const platformServices = new BlockList()
platformServices.addAddress("168.63.129.16")

const allocatedUnicast = ipaddr.IPv6.parseCIDR("2000::/3")

/** Returns the name of the refused range of an address. Undefined for a permitted address. */
export function refusedRange(address: string): string | undefined {
  if (!ipaddr.isValid(address)) return "not an address"
  const parsed = ipaddr.parse(address)
  const range = parsed.range()
  if (range !== "unicast") return range
  if (parsed instanceof ipaddr.IPv6) return parsed.match(allocatedUnicast) ? undefined : "unallocated"
  return platformServices.check(parsed.toString()) ? "platform metadata" : undefined
}

export interface HostRule {
  readonly host: string
  /** Undefined: any port. */
  readonly port: string | undefined
}

/** `host`, `host:port`, `[v6]` or `[v6]:port`. Throws an Error with the entry. */
export function parseHostRule(entry: string): HostRule {
  const match = /^(\[[0-9a-f:.]+\]|[^:/?#@[\]\s]+|[0-9a-f:.]+)(?::(\d{1,5}))?$/i.exec(entry.trim())
  const host = match?.[1]
  if (!host) throw new Error(`outgoing.allow_hosts: "${entry}" is neither a host nor host:port, such as crm.internal or 127.0.0.1:8080.`)
  return { host: plainHost(host), port: match[2] }
}

/** Returns the host in lower case, without IPv6 brackets and without a trailing dot. */
export function plainHost(host: string): string {
  const bare = host.replace(/^\[|\]$/g, "").replace(/\.$/, "")
  return ipaddr.isValid(bare) && bare.includes(":") ? ipaddr.parse(bare).toString() : bare.toLowerCase()
}

export function isAllowed(rules: readonly HostRule[], host: string, port: string): boolean {
  const plain = plainHost(host)
  return rules.some((rule) => rule.host === plain && (rule.port === undefined || rule.port === port))
}
