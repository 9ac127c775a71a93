// Operator settings: the target hosts of customers' records, and the DNS servers.
import { isIP } from "node:net"
import { z } from "zod"

const Host = z
  .string()
  .toLowerCase()
  .regex(/^(?=.{1,253}$)[a-z0-9_-]+(?:\.[a-z0-9_-]+)+$/, "a host name such as spf.example.com")

export interface DnsServer {
  readonly address: string
  readonly port: number
}

export const Settings = z.strictObject({
  dns_servers: z
    .array(z.string().refine((text) => dnsServerOf(text) !== undefined, "an IP address, with or without a port, such as 192.0.2.1:53"))
    .default([])
    .describe("Recursive DNS servers, `address` or `address:port`, tried in order. Empty: those of the system."),
  dns_timeout_ms: z.int().min(50).max(30_000).default(3_000).describe("How long one DNS server may take to answer one question."),
  spf_host: Host.default("spf.millrace.localhost").describe(
    "Host whose SPF record lists the servers that send; customers' SPF records include it.",
  ),
  return_path_host: Host.default("bounce.millrace.localhost").describe("Host that takes bounces; `bounce.<domain>` is a CNAME of it."),
  receiving_host: Host.default("inbound.millrace.localhost").describe("Mail server that takes replies; customers' MX records name it."),
})
export type Settings = z.output<typeof Settings>

/** Suffix of the default hosts. Public DNS never resolves it (RFC 6761 section 6.3). */
const notInDns = ".localhost"

/** Returns the hosts with a default value. Domains cannot be verified against these. */
export function unsetHosts({ spf_host, return_path_host, receiving_host }: Settings): string[] {
  const hosts = { spf_host, return_path_host, receiving_host }
  return Object.entries(hosts).flatMap(([name, host]) => (pointsNowhere(host) ? [name] : []))
}

/** Returns true if the value is, or ends in, a host outside public DNS. */
export function pointsNowhere(value: string): boolean {
  return value.split(" ").some((part) => part.endsWith(notInDns))
}

/** Returns undefined unless the text is an IP address with an optional port. */
export function dnsServerOf(text: string): DnsServer | undefined {
  const [, bracketed, plain, port = "53"] = /^(?:\[([0-9a-f:.]+)\]|([0-9.]+))(?::(\d{1,5}))?$/i.exec(text) ?? []
  const address = bracketed ?? plain ?? text
  if (isIP(address) === 0 || Number(port) < 1 || Number(port) > 65_535) return undefined
  return { address, port: Number(port) }
}
