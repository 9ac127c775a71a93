// DNS lookups through a recursive server. An answer has values, and is authoritative or has a remaining cache time. SERVFAIL,
// refusals and timeouts yield no information about a record.
import { getServers } from "node:dns"
import type { Packet } from "dns2"
import { token } from "#core"
import { type DnsServer, dnsServerOf, type Settings } from "../settings.ts"
import { exchange, type Question } from "./exchange.ts"

export type RecordType = Question["type"]

export interface Known {
  readonly known: true
  /** Empty if DNS has no records. TXT joined as in RFC 7208 and 6376, MX as `10 host`, names in lower case. */
  readonly values: readonly string[]
  readonly authoritative: boolean
  /** True if the answer is an alias instead of records. */
  readonly alias?: boolean
  /** Remaining cache time in seconds. Null if unknown. */
  readonly ttl: number | null
}

/** The DNS values of a name, or the reason for a missing answer. */
export type Answer = Known | { readonly known: false; readonly why: string }

export type Lookup = (name: string, type: RecordType) => Promise<Answer>

/** The DNS lookup of the service, according to its settings. */
export const DnsLookup = token<Lookup>("DnsLookup")

const noError = 0
const nameError = 3
const rcodes: Readonly<Record<number, string>> = { 1: "FORMERR", 2: "SERVFAIL", 4: "NOTIMP", 5: "REFUSED" }
const typeCodes: Readonly<Record<RecordType, number>> = { A: 1, AAAA: 28, CNAME: 5, MX: 15, NS: 2, TXT: 16 }
const soaCode = 6

export type AskServer = (server: DnsServer, question: Question) => Promise<Answer>

/** Returns the servers of the settings, or the system's servers. */
export function configuredServers({ dns_servers }: Pick<Settings, "dns_servers">): DnsServer[] {
  return (dns_servers.length > 0 ? dns_servers : getServers()).flatMap((text) => dnsServerOf(text) ?? [])
}

/** Queries the servers in order until one answers. */
export function createLookup(settings: Pick<Settings, "dns_servers" | "dns_timeout_ms">): Lookup {
  const ask = askServer(settings)
  return async (name, type) => {
    const reasons: string[] = []
    for (const server of configuredServers(settings)) {
      const answer = await ask(server, { name, type, recursive: true })
      if (answer.known) return answer
      reasons.push(answer.why)
    }
    return { known: false, why: reasons.join("; ") || "no DNS server is configured" }
  }
}

/** Lookup for rehearsals and tests. It has no records and sends no questions. */
export const emptyLookup: Lookup = async () => ({ known: true, values: [], authoritative: true, ttl: null })

export function askServer({ dns_timeout_ms }: Pick<Settings, "dns_timeout_ms">): AskServer {
  return async (server, question) => {
    try {
      return read(await exchange(server, question, dns_timeout_ms), question, serverText(server))
    } catch (error) {
      return { known: false, why: `${serverText(server)}: ${error instanceof Error ? error.message : String(error)}` }
    }
  }
}

export function serverText({ address, port }: DnsServer): string {
  return port === 53 ? address : `${address}:${port}`
}

function read(packet: Packet, { name, type }: Question, server: string): Answer {
  const { rcode = noError, aa } = packet.header
  if (rcode !== noError && rcode !== nameError) return { known: false, why: `${server} answered ${rcodes[rcode] ?? `rcode ${rcode}`}` }
  if (packet.errors.length > 0) return { known: false, why: `${server} gave an answer that cannot be read` }
  // The name servers of an alias's target zone are not the name servers of the alias.
  const isOwn = (record: Packet["answers"][number]) => type !== "NS" || host(record.name) === name.toLowerCase()
  const records = packet.answers.filter((record) => record.type === typeCodes[type] && isOwn(record))
  const ttls = (records.length > 0 ? packet.answers : packet.authorities.filter((record) => record.type === soaCode)).map(
    ({ ttl }) => ttl ?? 0,
  )
  return {
    known: true,
    values: records.map((record) => textOf(record, type)),
    authoritative: Boolean(aa),
    alias: records.length === 0 && packet.answers.some((record) => record.type === typeCodes.CNAME),
    ttl: ttls.length > 0 ? Math.min(...ttls) : null,
  }
}

function textOf(record: Packet["answers"][number], type: RecordType): string {
  const {
    data,
    domain = "",
    exchange = "",
    priority = 0,
    address = "",
    ns = "",
  } = record as typeof record & {
    data?: string | string[]
    domain?: string
    exchange?: string
    priority?: number
    address?: string
    ns?: string
  }
  if (type === "TXT") return Array.isArray(data) ? data.join("") : (data ?? "")
  if (type === "MX") return `${priority} ${host(exchange)}`
  if (type === "NS") return host(ns)
  return type === "CNAME" ? host(domain) : address
}

function host(name: string): string {
  return name.toLowerCase().replace(/\.$/, "")
}
