// Browser sessions: sign-in, allowed and refused calls, and their end.
import { expect } from "chai"
import { io } from "socket.io-client"
import { type TestHost, testHost } from "#core/testing"

interface Refusal {
  readonly code: string
  readonly details: { readonly reason: string }
}

describe("sessions of browsers", () => {
  let host: TestHost
  before(async () => {
    host = await testHost()
  })
  after(() => host.stop())

  const signIn = (body: unknown, type = "application/json") =>
    fetch(`${host.url}/console-session`, {
      method: "POST",
      headers: { "content-type": type },
      body: typeof body === "string" ? body : JSON.stringify(body),
    })
  const cookieOf = (response: Response) => response.headers.get("set-cookie")?.split(";")[0] ?? ""
  const signedIn = async (key = host.adminKey) => cookieOf(await signIn({ key }))
  const call = async (cookie: string, path: string, { method = "GET", headers = {}, body }: RequestInit = {}) => {
    const response = await fetch(host.url + path, { method, headers: { cookie, ...headers }, ...(body ? { body } : {}) })
    const text = await response.text()
    return { status: response.status, body: (text === "" ? {} : JSON.parse(text)) as Refusal & Record<string, unknown> }
  }
  const refused = async (answer: Promise<{ status: number; body: Refusal }>) => {
    const { status, body } = await answer
    return [status, body.details.reason]
  }

  it("are opened with a key, kept in a cookie that scripts cannot read, and are the key's own rights", async () => {
    const response = await signIn({ key: host.adminKey })
    expect(response.status).to.equal(204)
    const set = response.headers.get("set-cookie") ?? ""
    expect(set)
      .to.match(/^mr_session=mr_session_\w+; .*HttpOnly/)
      .and.include("SameSite=Strict")
      .and.include("Path=/")
      .and.not.include("Secure")
    expect(set).to.not.include(host.adminKey)
    const cookie = cookieOf(response)
    const { body } = await call(cookie, "/v1/me")
    expect(body).to.deep.include({ role: "owner" })
    expect(body["credential"]).to.include({ kind: "session" })
    const answer = await host.api<{ api_keys: { kind: string; id: string }[] }>("GET", "/v1/api-keys")
    expect(answer.body.api_keys.map(({ kind }) => kind)).to.deep.equal(["session", "api_key"])
    expect(JSON.stringify(answer.body)).to.not.include(cookie.slice(-20))
    expect(host.logged.join("\n")).to.not.include(cookie.slice(-20))
  })

  it("change nothing for pages of other sites, nor for a page of which the browser does not say whose it is", async () => {
    const cookie = await signedIn()
    const body = JSON.stringify({ name: "Made" })
    const make = (headers: Record<string, string>) =>
      call(cookie, "/v1/datasets", { method: "POST", headers: { "content-type": "application/json", ...headers }, body })
    for (const headers of [
      {},
      { origin: "https://evil.test" },
      { origin: "null" },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site", origin: host.url },
    ])
      expect(await refused(make(headers)), JSON.stringify(headers)).to.deep.equal([403, "origin_not_allowed"])
    expect((await host.api<{ total: number }>("GET", "/v1/datasets")).body.total).to.equal(0)
    expect((await make({ "sec-fetch-site": "same-origin", origin: host.url })).status).to.equal(200)
    expect((await make({ origin: host.url })).status).to.equal(200)
    // A key in the same request takes precedence.
    expect((await make({ authorization: "Bearer mr_api_wrong", origin: host.url })).status).to.equal(401)
  })

  it("are opened and ended by the service's own pages only", async () => {
    const cookie = await signedIn()
    const send = async (method: string, headers: Record<string, string>) => {
      const body = method === "POST" ? { body: JSON.stringify({ key: host.adminKey }) } : {}
      return (
        await fetch(`${host.url}/console-session`, { method, headers: { cookie, "content-type": "application/json", ...headers }, ...body })
      ).status
    }
    for (const method of ["POST", "DELETE"]) {
      for (const headers of [{ origin: "https://evil.test" }, { origin: "null" }, { "sec-fetch-site": "cross-site" }] as const)
        expect(await send(method, headers), `${method} ${JSON.stringify(headers)}`).to.equal(403)
    }
    expect((await call(cookie, "/v1/me")).status).to.equal(200)
    expect(await send("POST", { origin: host.url })).to.equal(204)
    expect(await send("DELETE", { origin: host.url, "sec-fetch-site": "same-origin" })).to.equal(204)
    expect((await call(cookie, "/v1/me")).status).to.equal(401)
  })

  it("end when they are not used, when their time is over, and with the key that opened them", async () => {
    const cookie = await signedIn()
    host.clock.move(59 * 60_000)
    expect((await call(cookie, "/v1/me")).status).to.equal(200)
    host.clock.move(59 * 60_000)
    expect((await call(cookie, "/v1/me")).status).to.equal(200)
    host.clock.move(61 * 60_000)
    expect(await refused(call(cookie, "/v1/me"))).to.deep.equal([401, "credential_expired"])

    const used = await signedIn()
    for (let hour = 0; hour < 24; hour++) {
      host.clock.move(29 * 60_000)
      await call(used, "/v1/me")
    }
    host.clock.move(29 * 60_000)
    expect(await refused(call(used, "/v1/me"))).to.deep.equal([401, "credential_expired"])

    const response = await host.api<{ id: string; secret: string }>("POST", "/v1/api-keys", { name: "Other", role: "member" })
    const theirs = await signedIn(response.body.secret)
    expect((await call(theirs, "/v1/me")).body).to.include({ role: "member" })
    expect(await refused(call(theirs, "/v1/api-keys"))).to.deep.equal([403, "role_too_low"])
    await host.api("POST", `/v1/api-keys/${response.body.id}/revoke`)
    expect(await refused(call(theirs, "/v1/me"))).to.deep.equal([401, "credential_revoked"])
  })

  it("are ended by who opened them and by an admin, and open no other session", async () => {
    const cookie = await signedIn()
    const own = { headers: { cookie }, method: "DELETE" }
    const out = await fetch(`${host.url}/console-session`, own)
    expect([out.status, cookieOf(out)]).to.deep.equal([204, "mr_session="])
    expect(await refused(call(cookie, "/v1/me"))).to.deep.equal([401, "credential_revoked"])
    expect((await fetch(`${host.url}/console-session`, own)).status).to.equal(204)

    const another = await signedIn()
    const session = another.slice("mr_session=".length)
    const again = await signIn({ key: session })
    expect([again.status, ((await again.json()) as Refusal).details.reason]).to.deep.equal([403, "session_not_a_key"])
    const { body } = await host.api<{ api_keys: { id: string; revoked_at: string | null }[] }>("GET", "/v1/api-keys")
    const [latest] = body.api_keys.filter(({ revoked_at }) => revoked_at === null)
    await host.api("POST", `/v1/api-keys/${latest?.id}/revoke`)
    expect(await refused(call(another, "/v1/me"))).to.deep.equal([401, "credential_revoked"])
  })

  it("open a socket from the service's own pages alone", async () => {
    const cookie = await signedIn()
    const opened = (headers: Record<string, string>) =>
      new Promise<string>((resolve) => {
        const socket = io(host.url, {
          path: "/live",
          transports: ["websocket"],
          extraHeaders: headers,
          reconnection: false,
          forceNew: true,
        })
        const end = (how: string) => {
          socket.close()
          resolve(how)
        }
        socket.on("connect", () => end("open"))
        socket.on("connect_error", (error) =>
          end((error as Error & { data?: { details: { reason: string } } }).data?.details.reason ?? error.message),
        )
      })
    expect(await opened({ cookie, origin: host.url })).to.equal("open")
    expect(await opened({ cookie, origin: "https://evil.test" })).to.equal("origin_not_allowed")
    expect(await opened({ cookie, origin: host.url, "sec-fetch-site": "cross-site" })).to.equal("origin_not_allowed")
    expect(await opened({ origin: host.url })).to.equal("missing_credential")
  })

  it("refuse what is not a key, and bodies that a form of another site could send", async () => {
    const reasonOf = async (response: Response) => [response.status, ((await response.json()) as Refusal).details.reason]
    expect(await reasonOf(await signIn({ key: "mr_api_wrong" }))).to.deep.equal([401, "malformed_credential"])
    expect(await reasonOf(await signIn({ code: "nothing" }))).to.deep.equal([401, "sign_in_code_unknown"])
    for (const body of ["", "{", "[]", "{}", { key: 1 }, { key: "" }, { key: host.adminKey, more: 1 }])
      expect(await reasonOf(await signIn(body)), JSON.stringify(body)).to.deep.equal([400, "sign_in_malformed"])
    expect(await reasonOf(await signIn({ key: host.adminKey }, "text/plain"))).to.deep.equal([400, "sign_in_malformed"])
  })
})
