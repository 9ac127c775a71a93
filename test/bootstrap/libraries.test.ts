// Imports of large libraries: they belong to the start, before requests need the main thread.
import { existsSync, readdirSync } from "node:fs"
import { createServer, type Server } from "node:http"
import { registerHooks } from "node:module"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { Models } from "../../plugins/agents/models/index.ts"
import { Bench } from "../pipeline/bench.ts"
import { KnowledgeBench } from "../plugins/knowledge/bench.ts"
import { type ModelServer, modelServer } from "../plugins/models/model-server.ts"
import { Customer, checked, domainsEnv } from "../plugins/sending-domains/customer.ts"
import { type DnsServer, listenForDns } from "../plugins/sending-domains/dns-server.ts"
import { until } from "../waiting.ts"

describe("a service that listens", () => {
  const loaded: string[] = []
  const atStart = new Set<string>()
  const hooks = registerHooks({
    load(url, context, next) {
      loaded.push(url)
      return next(url, context)
    },
  })
  let host: TestHost
  let dns: DnsServer
  let provider: ModelServer
  let site: Server
  before(async () => {
    site = createServer((_request, response) => response.writeHead(200, { "content-type": "text/plain" }).end("text"))
    await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve))
    dns = await listenForDns()
    dns.set("spf.sender.com", "TXT", "v=spf1 ip4:192.0.2.1 -all")
    provider = await modelServer()
    provider.answer(() => "Fine.")
    const prices = { input: 1, output: 1 }
    const models = {
      judge: { base_url: provider.url, prices, model: "judge-1" },
      persona: { base_url: provider.url, prices, model: "persona-1", protocol: "anthropic" },
    }
    const { MILLRACE_PLUGINS_SETTINGS: domains = "{}", ...env } = domainsEnv(dns, checked)
    const settings = JSON.stringify({ ...(JSON.parse(domains) as object), models })
    host = await testHost({
      capture: false,
      env: { ...env, MILLRACE_PLUGINS_SETTINGS: settings, MILLRACE_OUTGOING_ALLOW_HOSTS: siteHost() },
    })
    for (const name of packagesOf(loaded.splice(0))) atStart.add(name)
  })
  after(async () => {
    hooks.deregister()
    await host.stop()
    await Promise.all([dns.close(), provider.close()])
    site.close()
    site.closeAllConnections()
  })

  const siteHost = () => `127.0.0.1:${(site.address() as AddressInfo).port}`
  /** Returns packages imported for the first time. */
  const packages = () => packagesOf(loaded.splice(0)).filter((name) => !atStart.has(name))

  it("imports no package for its first call of another system", async () => {
    const bench = new KnowledgeBench(host)
    const item = await bench.whenRead((await bench.create({ url: `http://${siteHost()}/` })).id)
    expect(item.content).to.equal("text")
    expect(packages()).to.deep.equal([])
  })

  it("imports no package for its first mail", async () => {
    const pipeline = [{ type: "email.send", to: "a@b.test", heading: "Hello", intro: "Hello." }]
    const { inbound_url } = await new Bench(host).make({ name: "mails", state: "active", auth_mode: "none", pipeline })
    expect((await fetch(inbound_url, { method: "POST", body: "{}" })).status).to.equal(200)
    const outbox = join(host.dataDir, "outbox")
    await until("the message", () => existsSync(outbox) && readdirSync(outbox).some((name) => name.endsWith(".eml")))
    expect(packages()).to.deep.equal([])
  })

  for (const purpose of ["judge", "persona"] as const)
    it(`imports no package for the first call of the model for ${purpose}`, async () => {
      const prompt = { name: "first", version: 1, text: "Answer." }
      const { value } = await host.get(Models).text(host.organization.id, { purpose, prompt, input: "first" })
      expect(value).to.equal("Fine.")
      expect(packages()).to.deep.equal([])
    })

  it("imports no package for its first check of a sending domain", async () => {
    const customer = new Customer(host, dns)
    await customer.create("first.com")
    expect((await customer.verify("first.com")).of("spf")).to.include({ state: "ok" })
    expect(packages()).to.deep.equal([])
  })
})

function packagesOf(urls: readonly string[]): string[] {
  return [...new Set(urls.flatMap((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? []))]
}
