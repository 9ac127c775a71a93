// Which addresses outgoing calls may reach: global unicast ones, and those that the operator names in
// `outgoing.allow_hosts`. Everything else (private, loopback, link-local, shared, multicast, reserved, and the IPv6
// forms that carry an IPv4 address inside) is refused by its range, not by a list of known bad ones.
import { BlockList } from "node:net"
import ipaddr from "ipaddr.js"

/** Answered by hosting platforms to their own machines, though the address looks public. */
const platformServices = new BlockList()
platformServices.addAddress("168.63.129.16")

const allocatedUnicast = ipaddr.IPv6.parseCIDR("2000::/3")

/** The range that makes an address unreachable for us, in words; undefined when it may be reached. */
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
  /** Any port when absent. */
  readonly port: string | undefined
}

/** `host`, `host:port`, `[v6]` or `[v6]:port`. Throws an Error that names the entry. */
export function parseHostRule(entry: string): HostRule {
  const match = /^(\[[0-9a-f:.]+\]|[^:/?#@[\]\s]+|[0-9a-f:.]+)(?::(\d{1,5}))?$/i.exec(entry.trim())
  const host = match?.[1]
  if (!host) throw new Error(`outgoing.allow_hosts: "${entry}" is neither a host nor host:port, such as crm.internal or 127.0.0.1:8080.`)
  return { host: plainHost(host), port: match[2] }
}

/** Lower case, without the brackets of IPv6 and without the root's dot. */
export function plainHost(host: string): string {
  const bare = host.replace(/^\[|\]$/g, "").replace(/\.$/, "")
  return ipaddr.isValid(bare) && bare.includes(":") ? ipaddr.parse(bare).toString() : bare.toLowerCase()
}

export function isAllowed(rules: readonly HostRule[], host: string, port: string): boolean {
  const plain = plainHost(host)
  return rules.some((rule) => rule.host === plain && (rule.port === undefined || rule.port === port))
}
