// A customer of sending domains, with a DNS server on loopback.
import { expect } from "chai"
import { Store } from "#core"
import type { TestHost } from "#core/testing"
import { JobCollection } from "../../../core/jobs/jobs-collection.ts"
import { patiently, until } from "../../waiting.ts"
import { pluginSettings } from "../buckets/stores.ts"
import type { DnsServer } from "./dns-server.ts"

export interface Refusal {
  readonly code: string
  readonly message: string
  readonly details: { reason?: string; fields?: { path: string; message: string }[] }
}
export interface Domain extends Refusal {
  readonly id: string
  readonly revision: number
  readonly domain: string
  readonly status: string
  readonly error_reason: string
  readonly from_email: string
  readonly last_checked_at: string
  readonly dns_records: { name: string; type: "CNAME" | "MX" | "TXT"; value: string }[]
  readonly [field: string]: unknown
}
interface RecordCheck {
  readonly record: string
  readonly state: string
  readonly problem: string | null
  readonly found: string[]
  readonly where: string
  readonly ttl_s: number | null
  readonly fix: string
}
interface Verified {
  readonly sending_domain: Domain
  readonly records: RecordCheck[]
}

export const path = "/v1/sending-domains"

export function domainsEnv(dns: DnsServer, settings: object): Record<string, string> {
  return pluginSettings({ "sending-domains": { dns_servers: [dns.address], spf_host: "spf.sender.com", ...settings } })
}

/** For tests of DNS checks: everything checked is configured. */
export const checked = { dns_timeout_ms: 30_000, return_path_host: "bounce.sender.com" }

export const typesOf = ({ dns_records }: Domain) =>
  dns_records.map(({ type, name }) => `${type} ${name.replace(/^mr[a-z0-9]+/, "SELECTOR")}`)

/**
 * Advances one hour and thus one check of a domain, read by `read`. Wall time stops first: the schedule's minute could otherwise
 * pass by itself and cause another check.
 */
export async function afterHourlyCheck<T extends Pick<Domain, "last_checked_at">>(host: TestHost, read: () => Promise<T>): Promise<T> {
  host.clock.set(host.clock.now())
  const before = await read()
  host.clock.move(3_600_000)
  const jobs = host.get(Store).open(JobCollection)
  return until("the hour's check", async () => {
    const now = await read()
    return now.last_checked_at !== before.last_checked_at && (await jobs.count({ type: "sending_domains.check" })) === 0 && now
  })
}

export class Customer {
  readonly #host: TestHost
  readonly #dns: DnsServer

  constructor(host: TestHost, dns: DnsServer) {
    this.#host = host
    this.#dns = dns
  }

  api<T>(method: string, at: string, body?: object) {
    return patiently(() => this.#host.api<T>(method, at, body))
  }

  /** Returns the answer unchanged, including 503. */
  register(domain: string, more: object = {}) {
    return this.#host.api<Domain>("POST", path, { domain, ...more })
  }

  async read(domain: string): Promise<Domain> {
    return (await this.api<Domain>("GET", `${path}/${domain}`)).body
  }

  /** Registers a domain and creates its records as requested. */
  async create(domain: string, more: object = {}) {
    const { body } = await this.api<Domain>("POST", path, { domain, ...more })
    for (const { name, type, value } of body.dns_records) this.#dns.set(name, type, value)
    const [dkim, spf, returnPath, dmarc] = body.dns_records
    if (!dkim || !spf || !returnPath || !dmarc) throw new Error(`records are missing: ${JSON.stringify(body)}`)
    return { dkim, spf, returnPath, dmarc }
  }

  async verify(domain: string) {
    const { status, body } = await this.api<Verified>("POST", `${path}/${domain}/verify`)
    expect(status, JSON.stringify(body)).to.equal(200)
    return { ...body, of: (record: string) => body.records.find((check) => check.record === record) }
  }
}
