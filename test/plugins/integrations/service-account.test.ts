// Connections by service-account JSON: assertions signed with its key, and the vendor's tokens for them.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { decodeProtectedHeader, exportPKCS8, generateKeyPair, jwtVerify } from "jose"
import { type TestHost, testHost } from "#core/testing"
import { Integrations } from "../../../plugins/agents/integrations/index.ts"
import { failureOf } from "../../refusal.ts"
import { listen, type Peer } from "../outgoing-http/loopback-peer.ts"

interface Answer {
  readonly integration_id: string
  readonly status: string
  readonly message: string
  readonly ok: boolean
  readonly details: { readonly reason: string; readonly fields: { readonly path: string }[] }
}

describe("service accounts", () => {
  let peer: Peer
  let host: TestHost
  let key: string
  let publicKey: Awaited<ReturnType<typeof generateKeyPair>>["publicKey"]
  let refuses = false
  let tokens = 0
  let valid = ""
  const folder = mkdtempSync(join(tmpdir(), "millrace-apps-"))
  before(async () => {
    const pair = await generateKeyPair("RS256", { extractable: true })
    publicKey = pair.publicKey
    key = await exportPKCS8(pair.privateKey)
    peer = await listen(({ url, headers }, response) => {
      const json = (status: number, body: object) =>
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
      if (url === "/token" && refuses) return json(400, { error: "invalid_grant", error_description: "SECRET" })
      if (url === "/token") {
        valid = `token-${++tokens}`
        return json(200, { access_token: valid, token_type: "Bearer", expires_in: 3600 })
      }
      return json(headers.authorization === `Bearer ${valid}` ? 200 : 401, { sub: "1" })
    })
    const document = {
      slug: "desk",
      name: "Desk",
      summary: "A vendor with service accounts.",
      docs_url: "https://docs.desk.test/",
      base_url: `${peer.origin}/api`,
      auth: { service_account: { token_url: `${peer.origin}/token`, scopes: ["who"] } },
      test: { path: "/me", success: { json: { field: "sub" } } },
    }
    writeFileSync(join(folder, "desk.json"), JSON.stringify(document))
    const env = {
      MILLRACE_OUTGOING_ALLOW_HOSTS: `127.0.0.1:${peer.port}`,
      MILLRACE_PLUGINS_SETTINGS: JSON.stringify({ integrations: { app_folders: [folder], health_checks: "off" } }),
    }
    host = await testHost({ env, capture: false })
  })
  after(async () => {
    await host.stop()
    await peer.close()
    rmSync(folder, { recursive: true })
  })
  beforeEach(() => {
    refuses = false
    peer.asked.length = 0
  })

  const account = (change: object = {}) => ({
    type: "service_account",
    project_id: "millrace-test",
    private_key_id: "key-1",
    private_key: key,
    client_email: "robot@millrace-test.iam.example.com",
    client_id: "1",
    token_uri: `${peer.origin}/token`,
    universe_domain: "example.com",
    ...change,
  })
  const connect = (input: object) =>
    host.api<Answer>("POST", "/v1/integrations-connect", { app: "desk", share_with_org: true, credentials: account(), ...input })
  const call = (ref: string) => host.get(Integrations).call(host.organization.id, ref, { method: "GET", path: "/files" })
  const askedFor = (path: string) => peer.asked.filter(({ url }) => url === path)

  it("call with a token for an assertion that names account, audience and scopes", async () => {
    expect((await connect({ name: "Drive", scopes: ["files"] })).body.status).to.equal("connected")
    expect((await call("drive")).status).to.equal(200)
    const form = new URLSearchParams(askedFor("/token")[0]?.body)
    expect(form.get("grant_type")).to.equal("urn:ietf:params:oauth:grant-type:jwt-bearer")
    const assertion = form.get("assertion") ?? ""
    const expected = {
      issuer: "robot@millrace-test.iam.example.com",
      audience: `${peer.origin}/token`,
      currentDate: new Date(host.clock.now()),
    }
    const { payload } = await jwtVerify(assertion, publicKey, expected)
    expect(payload).to.include({ scope: "who files" })
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).to.equal(3600)
    expect(decodeProtectedHeader(assertion)).to.include({ alg: "RS256", kid: "key-1" })
    expect((await host.api<Answer>("POST", "/v1/integrations/drive/test")).body.ok).to.equal(true)
    expect(JSON.stringify((await host.api("GET", "/v1/integrations/drive")).body)).not.to.include("PRIVATE KEY")
  })

  it("keep a token for many calls, and get another before it expires and after a 401", async () => {
    await connect({ name: "Cached" })
    await Promise.all(Array.from({ length: 5 }, () => call("cached")))
    expect(askedFor("/token")).to.have.length(1)
    valid = "ended at the vendor"
    expect((await call("cached")).status).to.equal(200)
    expect(askedFor("/token")).to.have.length(2)
    host.clock.move(3_590_000)
    expect((await call("cached")).status).to.equal(200)
    expect(askedFor("/token")).to.have.length(3)
  })

  it("say that the server refuses the account, without what it wrote, and work after a rotation", async () => {
    await connect({ name: "Refused" })
    refuses = true
    const error = await failureOf(call("refused"))
    expect(error.details).to.include({ reason: "integration_unusable", retryable: false })
    expect(error.message).not.to.include("SECRET")
    refuses = false
    expect((await connect({ name: "refused", rotate_credentials: true })).status).to.equal(200)
    expect((await call("refused")).status).to.equal(200)
  })

  it("are refused with another token server, a broken key or a missing field", async () => {
    const cases: [object, string][] = [
      [{ token_uri: "https://evil.example/token" }, "credentials.token_uri"],
      [{ private_key: "-----BEGIN PRIVATE KEY-----\nSECRET\n-----END PRIVATE KEY-----" }, "credentials.private_key"],
      [{ client_email: "" }, "credentials.client_email"],
    ]
    for (const [change, path] of cases) {
      const { status, body } = await connect({ credentials: account(change) })
      expect([status, body.details.reason, body.details.fields[0]?.path]).to.deep.equal([400, "invalid_credentials", path])
      expect(JSON.stringify(body)).not.to.include("SECRET")
    }
    expect(peer.asked).to.be.empty
  })

  it("may connect google beside its authorization", async () => {
    const response = await connect({
      app: "google",
      name: "Google",
      credentials: account({ token_uri: "https://oauth2.googleapis.com/token" }),
    })
    expect([response.status, response.body.status]).to.deep.equal([200, "connected"])
    const none = await host.api<Answer>("POST", "/v1/integrations-connect", { app: "google" })
    expect(none.body.details.reason).to.equal("authorization_unavailable")
  })
})
