// Connecting and calling apps (specification 4.4), on a real store and with a real HTTP peer.
import { expect } from "chai"
import { z } from "zod"
import { Collections } from "../../../core/contract/collection.ts"
import { Operations } from "../../../core/contract/operation.ts"
import integrations, { defineIntegrationApp } from "../../../plugins/agents/integrations/index.ts"
import integrationCallPlugin from "../../../plugins/capture/actions/integration-call/index.ts"
import { failureOf } from "../../refusal.ts"
import { findings, runStep } from "../actions/step-bench.ts"
import { actionOf, declaredBy } from "../declared-by.ts"
import { listen, type Peer } from "../outgoing-http/loopback-peer.ts"
import { acme, callerOf, type Desk, openDesk, other } from "./desk.ts"

const integrationCall = actionOf(integrationCallPlugin)
const declared = declaredBy(integrations)
const operationOf = (name: string) => declared.get(Operations, `integrations.${name}`) ?? expect.fail(`no operation ${name}`)
const [connectIntegration, listIntegrations] = [operationOf("connect"), operationOf("list")]
const [disconnectIntegration, getIntegration] = [operationOf("disconnect"), operationOf("get")]

const grant = defineIntegrationApp({
  name: "calendar",
  summary: "An app that is connected by a grant.",
  kind: "oauth",
  credentials: z.strictObject({ access_token: z.string() }),
  request: () => ({ url: "https://calendar.test/" }),
  connectUrl: async ({ returnUrl }) => `https://calendar.test/authorize?back=${encodeURIComponent(returnUrl)}`,
})

describe("integrations", () => {
  let peer: Peer
  let desk: Desk
  before(async () => {
    peer = await listen(({ url }, response) => {
      if (url === "/v2/away") return response.writeHead(302, { location: `http://localhost:${peer.port}/elsewhere` }).end()
      const status = Number(/status\/(\d+)/.exec(url)?.[1] ?? 200)
      return response.writeHead(status, { "content-type": "application/json" }).end('{"id":"c-1"}')
    })
    desk = await openDesk(`127.0.0.1:${peer.port}`, grant)
  })
  after(async () => {
    await desk.close()
    await peer.close()
  })
  beforeEach(async () => {
    peer.asked.length = 0
    await desk.clear()
  })

  const credentials = (token: string) => ({ base_url: `${peer.origin}/v2`, headers: { Authorization: `Bearer ${token}` } })
  const connect = (change: object = {}, caller = callerOf()) =>
    desk.call(connectIntegration, { app: "http", credentials: credentials("SECRET-ONE"), share_with_org: true, ...change }, caller)
  const list = async (caller = callerOf()) => (await desk.call(listIntegrations, {}, caller)).integrations

  describe("connect", () => {
    it("answers with what the specification names, and keeps the secret nowhere but sealed", async () => {
      const answer = await connect({ name: "Our CRM" })
      expect(answer).to.deep.include({
        app: "http",
        connect_url: "",
        organization_name: "Acme",
        organization_slug: "acme",
        status: "connected",
      })
      expect(Object.keys(answer).sort()).to.deep.equal([
        "app", "connect_url", "integration_id", "next_step", "organization_name", "organization_slug", "status",
      ]) // biome-ignore format: a list
      const output = JSON.stringify([answer, await list(), await desk.call(getIntegration, { id: "our-crm" }, callerOf())])
      expect(output).to.include("[redacted]")
      for (const place of [output, desk.onDisk()])
        expect(place)
          .to.include("our-crm")
          .and.not.to.match(/SECRET-ONE|Bearer|\/v2/)
    })

    const bad: [string, object, RegExp][] = [
      ["an unknown app", { app: "crmx" }, /app "crmx" does not exist.*calendar, http/],
      ["missing credentials", { credentials: undefined }, /credentials/],
      ["a base that is not a URL", { credentials: { base_url: "SECRET-api", headers: {} } }, /credentials\.base_url: Expected an absolute/],
      ["a base with a password", { credentials: { base_url: "https://u:SECRET@api.test", headers: {} } }, /base_url/],
      ["a base that is private", { credentials: { base_url: "http://10.0.0.1/SECRET", headers: {} } }, /public addresses only/],
      ["a header that injects", { credentials: { base_url: "https://api.test", headers: { "X-A": "SECRET\r\nX-B: 1" } } }, /"X-A"/],
      ["a header that is the connection's", { credentials: { base_url: "https://api.test", headers: { Host: "SECRET" } } }, /"Host"/],
      ["a field that is unknown", { credentials: { base_url: "https://api.test", password: "SECRET" } }, /password/],
    ]
    for (const [what, change, message] of bad) {
      it(`refuses ${what}, and repeats nothing secret`, async () => {
        const error = await failureOf(connect(change))
        expect(error).to.include({ code: "invalid_argument" })
        expect(error.message).to.match(message)
        expect(error.message + JSON.stringify(error.details)).not.to.include("SECRET")
        expect(await list()).to.deep.equal([])
      })
    }

    it("takes only an absolute http(s) return_url without credentials", () => {
      const takes = (return_url: string) => connectIntegration.input.safeParse({ app: "http", return_url }).success
      for (const url of ["", "https://a.test/x?y=1", "http://localhost:3000"]) expect(takes(url), url).to.equal(true)
      for (const url of [
        "/relative",
        "a.test",
        "javascript:alert(1)",
        "ftp://a.test",
        "https://u:p@a.test",
        "https://@a.test",
        "https:a.test",
        "https://a.test\\@b.test",
      ]) {
        expect(takes(url), url).to.equal(false)
      }
    })

    it("lends native credentials, never a grant, and never for callers on MCP", async () => {
      await connect({ managed_access: "managed_organizations" })
      expect(await list()).to.have.lengthOf(1)
      expect((await list())[0]).to.include({ managed_access: "managed_organizations" })
      const grantCall = { app: "calendar", credentials: undefined, managed_access: "managed_organizations" }
      expect((await failureOf(connect(grantCall))).details).to.include({ reason: "managed_access_refused" })
      await connect({ name: "By MCP", managed_access: "managed_organizations" }, callerOf({ surface: "mcp" }))
      expect((await list()).find(({ slug }) => slug === "by-mcp")).to.include({ managed_access: "none" })
      expect(connectIntegration.mcp).to.deep.include({ clears: ["managed_access"] })
    })

    it("sends the user to an app that is connected by a grant", async () => {
      const answer = await connect({ app: "calendar", credentials: undefined, return_url: "https://a.test/back" })
      expect(answer).to.include({
        status: "pending_authorization",
        connect_url: "https://calendar.test/authorize?back=https%3A%2F%2Fa.test%2Fback",
      })
      expect((await failureOf(connect({ app: "calendar" }))).details).to.include({ reason: "credentials_refused" })
      const rotation = { app: "calendar", credentials: undefined, rotate_credentials: true, return_url: "https://a.test/back" }
      expect((await failureOf(connect(rotation))).details).to.include({ reason: "rotate_credentials_refused" })
    })

    it("rotates the connection there is instead of adding one", async () => {
      const first = await connect({ name: "CRM" })
      const rotated = await connect({ credentials: credentials("SECRET-TWO"), rotate_credentials: true, share_with_org: undefined })
      expect(rotated.integration_id).to.equal(first.integration_id)
      expect(await list()).to.have.length(1)
      expect((await list())[0]).to.include({ shared: true, name: "CRM" })
      await desk.integrations.call(acme.id, "crm", { method: "GET", path: "/" })
      expect(peer.asked[0]?.headers.authorization).to.equal("Bearer SECRET-TWO")
    })

    it("rotates nothing where there is none, several, or another's", async () => {
      expect(await failureOf(connect({ rotate_credentials: true }))).to.include({ code: "not_found" })
      await connect({ name: "One", share_with_org: false }, callerOf({ user: "grace" }))
      expect(await failureOf(connect({ rotate_credentials: true }))).to.include({ code: "not_found" })
      await connect({ name: "Two" })
      await connect({ name: "Two" })
      const error = await failureOf(connect({ rotate_credentials: true }))
      expect(error.details).to.deep.include({ reason: "ambiguous_connection", candidates: ["two", "two-2"] })
      expect((await connect({ rotate_credentials: true, name: "two-2" }))["next_step"]).to.include("two-2")
      expect(await failureOf(connect({ rotate_credentials: true }, callerOf({ organization: other })))).to.include({ code: "not_found" })
    })

    it("lets one of two rotations at once through", async () => {
      await connect({ name: "CRM" })
      const both = await Promise.allSettled(
        ["A", "B"].map((token) => connect({ credentials: credentials(token), rotate_credentials: true })),
      )
      const lost = both.filter((outcome) => outcome.status === "rejected")
      for (const { reason } of lost) expect(reason).to.include({ code: "aborted" })
      expect(lost.length).to.be.lessThan(2)
    })
  })

  describe("read and disconnect", () => {
    it("shows private connections to their connector and an owner, shared ones to all, none to others", async () => {
      await connect({ name: "Private", share_with_org: false })
      await connect({ name: "Shared" })
      const slugs = async (caller = callerOf()) => (await list(caller)).map(({ slug }) => slug)
      expect(await slugs()).to.have.members(["private", "shared"])
      expect(await slugs(callerOf({ user: "grace" }))).to.deep.equal(["shared"])
      expect(await slugs(callerOf({ user: "grace", role: "owner" }))).to.have.members(["private", "shared"])
      expect(await slugs(callerOf({ organization: other }))).to.deep.equal([])
      const hidden = await failureOf(desk.call(getIntegration, { id: "private" }, callerOf({ user: "grace" })))
      expect(hidden).to.include({ code: "not_found" })
      const foreign = await failureOf(desk.call(disconnectIntegration, { id: "shared" }, callerOf({ organization: other })))
      expect(foreign).to.include({ code: "not_found" })
      expect(await slugs()).to.have.length(2)
    })

    it("disconnects permanently", async () => {
      const { integration_id } = await connect({ name: "CRM" })
      expect(await desk.call(disconnectIntegration, { id: "crm" }, callerOf())).to.deep.equal({ integration_id, status: "disconnected" })
      expect(await desk.integrations.find(acme.id, "crm")).to.equal(undefined)
      const error = await failureOf(desk.integrations.call(acme.id, integration_id, { method: "GET", path: "/" }))
      expect(error.details).to.include({ reason: "integration_not_found", retryable: false })
      expect(peer.asked).to.have.length(0)
    })
  })

  describe("call", () => {
    it("is refused without usable credentials, and calls nobody", async () => {
      const { integration_id } = await connect({ name: "CRM" })
      const $set = { credentials: null }
      const write = {
        kind: "update",
        collection: declared.get(Collections, "integrations") ?? expect.fail("no collection"),
        organization: acme.id,
        id: integration_id,
        update: { $set },
      } as const
      await desk.store.commit({ id: "without-credentials", writes: [write] })
      const error = await failureOf(desk.integrations.call(acme.id, "crm", { method: "GET", path: "/" }))
      expect(error).to.include({ code: "failed_precondition" })
      expect(error.details).to.deep.equal({ reason: "integration_unusable", retryable: false })
      expect(peer.asked).to.have.length(0)
    })

    it("reaches below the base with the credentials, by slug or id", async () => {
      const { integration_id } = await connect({ name: "CRM" })
      const request = { method: "POST", path: "/contacts", query: { a: 1 }, body: { email: "ada@example.com" } }
      const answer = await desk.integrations.call(acme.id, integration_id, request, { idempotencyKey: "k-1" })
      expect(answer).to.deep.include({ status: 200, json: { id: "c-1" } })
      expect(peer.asked[0]).to.include({ method: "POST", url: "/v2/contacts?a=1", body: '{"email":"ada@example.com"}' })
      expect(peer.asked[0]?.headers).to.include({ authorization: "Bearer SECRET-ONE", "idempotency-key": "k-1" })
    })

    it("uses shared and lent connections, no other private ones, and a manager's only where it is lent", async () => {
      await connect({ name: "Private", share_with_org: false })
      await connect({ name: "Lent", share_with_org: false, managed_access: "managed_organizations" })
      await connect({ name: "Shared" })
      const refs = async (organization: string) => {
        const matches = await Promise.all(["private", "lent", "shared"].map((ref) => desk.integrations.find(organization, ref)))
        return matches.map((integration) => integration?.slug)
      }
      expect(await refs(acme.id)).to.deep.equal([undefined, "lent", "shared"])
      expect(await refs(other.id)).to.deep.equal([undefined, undefined, undefined])
      desk.managers.set(other.id, acme.id)
      expect(await refs(other.id)).to.deep.equal([undefined, "lent", undefined])
      expect((await desk.integrations.call(acme.id, "lent", { method: "GET", path: "/" })).status).to.equal(200)
      expect((await desk.integrations.call(other.id, "lent", { method: "GET", path: "/" })).status).to.equal(200)
    })

    const climbing = [
      "contacts",
      "//evil.test/",
      "/../admin",
      "/a/%2e%2E/b",
      "/.",
      "/a\\..\\b",
      "/a?b=1",
      "/a#b",
      "/a b",
      "/a\r\nX: y",
      "@evil.test/",
      "",
    ]
    for (const path of climbing) {
      it(`refuses the path ${JSON.stringify(path)}`, async () => {
        await connect()
        const error = await failureOf(desk.integrations.call(acme.id, "http", { method: "GET", path }))
        expect(error.details).to.include({ reason: "request_refused", retryable: false })
        expect(peer.asked).to.have.length(0)
      })
    }

    it("lets no step replace a credential, and no redirect carry one away", async () => {
      await connect()
      const replaced = { method: "GET", path: "/", headers: { authorization: "Bearer mine" } }
      expect((await failureOf(desk.integrations.call(acme.id, "http", replaced))).details).to.include({ reason: "request_refused" })
      const away = await failureOf(desk.integrations.call(acme.id, "http", { method: "GET", path: "/away" }))
      expect(away.details).to.include({ reason: "cross_origin_redirect" })
      expect(away.message).not.to.include("SECRET")
      expect(peer.asked.map(({ url }) => url)).to.deep.equal(["/v2/away"])
    })

    it("serves integration.call: values in place, failures told apart, remarks at save", async () => {
      await connect({ name: "CRM" })
      const deps = { integrations: desk.integrations, guards: [] }
      const context = { organization: { id: acme.id, slug: acme.slug } }
      const yaml = 'integration: crm\npath: /contacts/{{ event.id | url_encode }}\nbody: { email: "{{ event.email }}" }'
      const { result } = await runStep(integrationCall, yaml, { deps, context, event: { id: "a/b", email: "x@y.test" } })
      expect(result).to.deep.equal({ status: 200, body: { id: "c-1" }, truncated: false })
      expect(peer.asked[0]).to.include({ url: "/v2/contacts/a%2Fb", body: '{"email":"x@y.test"}' })
      expect(peer.asked[0]?.headers).to.have.property("idempotency-key")
      for (const [status, retryable] of [
        [404, false],
        [429, true],
        [502, true],
      ] as const) {
        const error = await failureOf(runStep(integrationCall, `integration: crm\npath: /status/${status}`, { deps, context }))
        expect(error.details).to.include({ status, retryable })
        expect(error.message + JSON.stringify(error.details)).not.to.include("SECRET")
      }
      expect(findings(integrationCall, "integration: crm\npath: /contacts/{{ event.id }}")).to.deep.equal(["warning unencoded-path"])
      expect(findings(integrationCall, "integration: crm\npath: contacts")).to.deep.equal(["error integration-path"])
    })
  })
})
