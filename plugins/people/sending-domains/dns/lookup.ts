// Questions to DNS, as a recursive server answers them: what is there, whether the answer is authoritative or how long it
// may still be cached, and when nothing can be told at all (SERVFAIL, refusals, timeouts), which says nothing about a record.
import { getServers } from "node:dns"
import type { Packet } from "dns2"
import { token } from "#core"
import { type DnsServer, dnsServerOf, type Settings } from "../settings.ts"
import { exchange, type Question } from "./exchange.ts"

export type RecordType = Question["type"]

export interface Known {
  readonly known: true
  /** Empty when DNS has none. TXT joined as RFC 7208 and 6376 say, MX as `10 host`, names in lower case. */
  readonly values: readonly string[]
  readonly authoritative: boolean
  /** The answer names another name in place of records. */
  readonly alias?: boolean
  /** Seconds for which the answer may be cached; null where it does not say. */
  readonly ttl: number | null
}

/** What DNS says of a name, or why it says nothing. */
export type Answer = Known | { readonly known: false; readonly why: string }

export type Lookup = (name: string, type: RecordType) => Promise<Answer>

/** The DNS of the service, as its settings have it. */
export const DnsLookup = token<Lookup>("DnsLookup")

const noError = 0
const nameError = 3
const rcodes: Readonly<Record<number, string>> = { 1: "FORMERR", 2: "SERVFAIL", 4: "NOTIMP", 5: "REFUSED" }
const typeCodes: Readonly<Record<RecordType, number>> = { A: 1, AAAA: 28, CNAME: 5, MX: 15, NS: 2, TXT: 16 }
const soaCode = 6

export type AskServer = (server: DnsServer, question: Question) => Promise<Answer>

/** The servers of the settings, or those of the system. */
export function configuredServers({ dns_servers }: Pick<Settings, "dns_servers">): DnsServer[] {
  return (dns_servers.length > 0 ? dns_servers : getServers()).flatMap((text) => dnsServerOf(text) ?? [])
}

/** Asks the servers in order until one can tell. */
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

/** The DNS of a service that is tried out or tested, which asks nobody: it holds no records. */
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
  // Of an alias, the servers of its target's zone are not those of its own.
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
