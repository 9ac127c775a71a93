// Requests in an organization with one admin, and in one that requires a second person.
import { expect } from "chai"
import { Store, UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { ApiKeys } from "../../../plugins/platform/organizations/index.ts"
import { until } from "../../waiting.ts"
import { gatedNotes, memberOf, NoteCollection, signedIn } from "./gated-notes.ts"

interface Answer {
  readonly state?: string
  readonly note?: string
  readonly decided_by?: object | null
  readonly require_second_person?: boolean | null
  readonly details?: { readonly reason?: string }
}
interface Key {
  readonly id: string
  readonly secret: string
}

describe("a second person", () => {
  let host: TestHost
  let owner: string
  let session: string
  before(async () => {
    host = await testHost({ plugins: [gatedNotes] })
    owner = (await host.api<{ user: { id: string } }>("GET", "/v1/me")).body.user.id
    session = await signedIn(host, owner)
  })
  after(() => host.stop())

  const requestApproval = async (text: string, key = host.adminKey) =>
    (await host.api<{ approval_id: string }>("POST", "/v1/gated-notes", { text }, { key })).body.approval_id
  const decide = async (id: string, key: string, decision = "approve") => {
    const { status, body } = await host.api<Answer>("POST", `/v1/approvals/${id}/decide`, { decision }, { key })
    return status === 200 ? body.state : body.details?.reason
  }
  const approval = async (id: string) => (await host.api<Answer>("GET", `/v1/approvals/${id}`)).body
  const createKey = async (more: object, key = host.adminKey) =>
    (await host.api<Key>("POST", "/v1/api-keys", { name: "Made", role: "admin", ...more }, { key })).body
  const opened = async (key: string) => {
    const body = JSON.stringify({ key })
    const response = await fetch(`${host.url}/console-session`, { method: "POST", headers: { "content-type": "application/json" }, body })
    return /mr_session=([^;]+)/.exec(response.headers.get("set-cookie") ?? "")?.[1] ?? ""
  }
  const set = (require_second_person: boolean | null, key = host.adminKey) =>
    host.api<Answer>("PATCH", "/v1/organization", { require_second_person }, { key })
  const notes = (text: string) => host.get(Store).open(NoteCollection, host.organization.id).count({ text })

  it("is not needed for the only owner in a session of their own: requests of keys, tokens, agents and sessions", async () => {
    const scopes = ["gated_notes:write", "approvals:write"]
    const manager = await createKey({ manager: true })
    const bySession = await createKey({}, session)
    const asking = {
      key: host.adminKey,
      session,
      manager: manager.secret,
      below: (await createKey({}, manager.secret)).secret,
      token: (await createKey({ kind: "token", scopes })).secret,
      agent: (await createKey({ kind: "agent", scopes })).secret,
      made: bySession.secret,
      opened: await opened(host.adminKey),
    }
    const others = [host.adminKey, bySession.secret, await opened(host.adminKey), await opened(bySession.secret), manager.secret]
    for (const [name, key] of Object.entries(asking)) {
      const text = `Only owner: ${name}`
      const id = await requestApproval(text, key)
      for (const other of others) expect(await decide(id, other), name).to.equal("own_request")
      expect(await decide(id, session), name).to.equal("approved")
      await until("the note", async () => (await notes(text)) === 1)
    }
  })

  it("is needed while a second admin exists, or as the setting says", async () => {
    expect((await host.api<Answer>("GET", "/v1/organization")).body.require_second_person).to.equal(null)
    expect((await set(true)).body.require_second_person).to.equal(true)
    const alone = await requestApproval("With the setting")
    expect(await decide(alone, session)).to.equal("own_request")
    expect((await set(null)).body.require_second_person).to.equal(null)
    expect(await decide(alone, session, "reject")).to.equal("rejected")

    const bob = await memberOf(host, "bob")
    const both = await requestApproval("With two admins")
    expect(await decide(both, session)).to.equal("own_request")
    expect((await set(false)).body.require_second_person).to.equal(false)
    expect(await decide(both, session, "reject")).to.equal("rejected")
    await set(null)
    const other = await requestApproval("For the other admin")
    expect(await decide(other, session)).to.equal("own_request")
    expect(await decide(other, await signedIn(host, bob.user), "reject")).to.equal("rejected")
    // A member does not count as an admin.
    await host.api("PATCH", `/v1/members/${bob.user}`, { role: "member" })
    expect(await decide(await requestApproval("With a member"), session, "reject")).to.equal("rejected")
  })

  it("is a setting of persons and services with a fresh sign-in", async () => {
    const agent = await createKey({ kind: "agent", scopes: ["organization:write", "mcp"] })
    await set(true)
    expect((await set(false, agent.secret)).body.require_second_person).to.equal(true)
    const call = { name: "organization_update", arguments: { require_second_person: false, name: "Renamed" } }
    const headers = { accept: "application/json, text/event-stream" }
    await host.api("POST", "/mcp?tools=all", { jsonrpc: "2.0", id: 1, method: "tools/call", params: call }, { headers })
    expect((await host.api<Answer>("GET", "/v1/organization")).body.require_second_person).to.equal(true)
    host.clock.move(301_000)
    const stale = await set(false, session)
    expect([stale.status, stale.body.details?.reason]).to.deep.equal([403, "sign_in_again"])
    expect((await set(null, await signedIn(host, owner))).status).to.equal(200)
  })

  it("finds requests of a removed admin rejected, and those of service keys pending", async () => {
    const eve = await memberOf(host, "eve")
    const service = await host.get(UnitsOfWork).run((work) => {
      const keyOptions = { name: "service", kind: "api_key", role: "admin", scopes: null, user: null } as const
      return host.get(ApiKeys).mint(work, host.organization.id, keyOptions).text
    })
    const theirs = [await requestApproval("By key", eve.key), await requestApproval("By session", await signedIn(host, eve.user))]
    const stays = [await requestApproval("By a service", service), await requestApproval("By the owner")]
    expect((await host.api("DELETE", `/v1/members/${eve.user}`)).status).to.equal(200)
    for (const id of theirs) {
      const { state, note, decided_by } = await approval(id)
      expect([state, decided_by]).to.deep.equal(["rejected", null])
      expect(note).to.include("no longer a member")
    }
    for (const id of stays) expect((await approval(id)).state).to.equal("pending")
    expect(await decide(stays[0] ?? "", session, "reject")).to.equal("rejected")
    expect([await notes("By key"), await notes("By session")]).to.deep.equal([0, 0])
  })
})
