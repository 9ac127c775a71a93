// A service that receives mail for a domain. A real DNS server on loopback has the domain's records.

import { UnitsOfWork } from "#core"
import { type TestHost, type TestHostOptions, testHost } from "#core/testing"
import type { AnyPlugin } from "../../../core/contract/registrar.ts"
import { InboundMailServer } from "../../../plugins/people/inbound-mail/index.ts"
import { ApiKeys, Organizations } from "../../../plugins/platform/organizations/index.ts"
import { mongoAvailable } from "../../mongodb-server.ts"
import { type Leg, onBothStores, onMongo } from "../../pipeline/stores.ts"
import { isFast } from "../../tier.ts"
import { patiently } from "../../waiting.ts"
import { pluginSettings } from "../buckets/stores.ts"
import { type DnsServer, listenForDns } from "../sending-domains/dns-server.ts"
import { SmtpClient } from "./smtp-client.ts"

export interface Receiving {
  readonly host: TestHost
  readonly dns: DnsServer
  readonly port: number
  /** Sends one message in its own session. Returns the last reply. */
  send(from: string, to: string | readonly string[], message: string): Promise<string>
  /** Registers a domain, creates its records, and verifies it. */
  activate(domain: string, more?: object, key?: string): Promise<void>
}

export interface ReceivingOptions {
  readonly start: (options?: TestHostOptions) => Promise<TestHost>
  readonly settings?: Readonly<Record<string, unknown>>
  /** Settings of other plugins. */
  readonly others?: Readonly<Record<string, unknown>>
  readonly plugins?: readonly AnyPlugin[]
}

export async function startReceiving({ start, settings = {}, others = {}, plugins = [] }: ReceivingOptions): Promise<Receiving> {
  const dns = await listenForDns()
  dns.set("spf.sender.com", "TXT", "v=spf1 ip4:127.0.0.1 -all")
  const host = await start({
    plugins,
    env: pluginSettings({
      ...others,
      "inbound-mail": { port: 0, host: "127.0.0.1", hostname: "inbound.sender.com", ...settings },
      "sending-domains": {
        dns_servers: [dns.address],
        dns_timeout_ms: 30_000,
        spf_host: "spf.sender.com",
        return_path_host: "bounce.sender.com",
        receiving_host: "inbound.sender.com",
      },
    }),
  })
  const port = host.get(InboundMailServer).port
  if (port === undefined) throw new Error("The mail server does not listen.")
  const api = async <T>(method: string, path: string, body: object | undefined, key: string) => {
    const answer = await patiently(() => host.api<T>(method, path, body, { key }))
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  return {
    host,
    dns,
    port,
    async send(from, to, message) {
      const client = await SmtpClient.open(port)
      try {
        return await client.send(from, typeof to === "string" ? [to] : to, message)
      } finally {
        client.close()
      }
    },
    async activate(domain, more = {}, key = host.adminKey) {
      interface Registered {
        readonly dns_records: { name: string; type: "CNAME" | "MX" | "TXT"; value: string }[]
      }
      const { dns_records } = await api<Registered>("POST", "/v1/sending-domains", { domain, receiving: true, ...more }, key)
      for (const { name, type, value } of dns_records) dns.set(name, type, value)
      const { sending_domain } = await api<{ sending_domain: { status: string } }>(
        "POST",
        `/v1/sending-domains/${domain}/verify`,
        undefined,
        key,
      )
      if (sending_domain.status !== "active") throw new Error(`${domain} is ${sending_domain.status}`)
    },
  }
}

/** Runs on both stores. In the first tier, runs on the named store if available. */
export function onStores(title: string, fast: "embedded" | "mongodb", define: (leg: Pick<Leg, "start">) => void): void {
  if (!isFast) onBothStores(title, define)
  else if (fast === "mongodb" && mongoAvailable) onMongo(title, define)
  else
    describe(title, () => {
      let host: TestHost
      after(() => host.stop())
      define({
        start: async (options) => {
          host = await testHost({ capture: false, ...options })
          return host
        },
      })
    })
}

/** Creates another organization with an admin's key. */
export async function otherOrganization(host: TestHost, slug: string): Promise<{ id: string; key: string }> {
  return host.get(UnitsOfWork).run((work) => {
    const { id } = host.get(Organizations).create(work, { name: slug, slug })
    const key = { name: "Key", kind: "api_key", role: "admin", scopes: null, user: null } as const
    return { id, key: host.get(ApiKeys).mint(work, id, key).text }
  })
}

/** Returns a message in the form of a mail program. */
export function message(headers: Readonly<Record<string, string>>, body = "Hello.\r\n"): string {
  const all = { From: "Lead <lead@elsewhere.test>", To: "hello@example.com", Subject: "Hello", ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${lines.join("")}\r\n${body}`
}
