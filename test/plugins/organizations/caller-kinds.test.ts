// Walks the table of persons, agents and services: each credential over each surface, and its allowed decisions.
import { expect } from "chai"
import { UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { type CallerKind, callerKind, callerKinds, type DecidingRight, decidingRight } from "../../../core/contract/caller-kind.ts"
import { ApiKeys } from "../../../plugins/platform/organizations/index.ts"
import { gatedNotes, memberOf, signedIn } from "../approvals/gated-notes.ts"

interface Refusal {
  readonly details?: { readonly reason?: string }
}

const scopes = [
  "mcp",
  "api_keys:write",
  "approvals:write",
  "autonomy:write",
  "event_pipelines:write",
  "gated_notes:write",
  "workstreams:write",
]

/** The decision table. `session`: a session opened with the credential. */
const expected = {
  interactive_session: { rest: "person", mcp: "agent", decides: "own_and_others" },
  user_key: { rest: "person", mcp: "agent", session: "service", decides: "others" },
  user_token: { rest: "person", mcp: "agent", session: "service", decides: "none" },
  agent_token: { rest: "agent", mcp: "agent", session: "agent", decides: "none" },
  service_key: { rest: "service", mcp: "agent", session: "service", decides: "none" },
  service_token: { rest: "service", mcp: "agent", session: "service", decides: "none" },
  service_agent_token: { rest: "agent", mcp: "agent", session: "agent", decides: "none" },
  manager_key: { rest: "service", mcp: "agent", session: "service", decides: "none" },
} as const
type Credential = keyof typeof expected

describe("caller kinds", () => {
  let host: TestHost
  let ada: string
  const keys = {} as Record<Credential, string>
  let number = 0
  before(async () => {
    host = await testHost({ plugins: [gatedNotes] })
    ada = (await memberOf(host, "ada")).key
    const createKey = async (kind: string, key: string, more: object = {}) =>
      (await host.api<{ secret: string }>("POST", "/v1/api-keys", { name: kind, kind, role: "admin", ...more }, { key })).body.secret
    const service = await host.get(UnitsOfWork).run((work) => {
      const keyOptions = { name: "service", kind: "api_key", role: "admin", scopes: null, user: null } as const
      return host.get(ApiKeys).mint(work, host.organization.id, keyOptions).text
    })
    const user = (await memberOf(host, "bob")).key
    // A second admin alone would end the exception for own requests.
    await host.api("PATCH", "/v1/organization", { require_second_person: false })
    Object.assign(keys, {
      interactive_session: await signedIn(host, (await memberOf(host, "cyd")).user),
      user_key: user,
      user_token: await createKey("token", user, { scopes }),
      agent_token: await createKey("agent", user, { scopes }),
      service_key: service,
      service_token: await createKey("token", service, { scopes }),
      service_agent_token: await createKey("agent", service, { scopes }),
      manager_key: await createKey("api_key", host.adminKey, { manager: true }),
    })
  })
  after(() => host.stop())

  const session = async (key: string) => {
    const body = JSON.stringify({ key })
    const response = await fetch(`${host.url}/console-session`, { method: "POST", headers: { "content-type": "application/json" }, body })
    expect(response.status).to.equal(204)
    return /mr_session=([^;]+)/.exec(response.headers.get("set-cookie") ?? "")?.[1] ?? ""
  }
  const callRest = async (method: string, path: string, input: object, key: string) =>
    JSON.stringify((await host.api<object>(method, path, input, { key })).body)
  const mcp = async (name: string, input: object, key: string) => {
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: input } }
    const headers = { accept: "application/json, text/event-stream" }
    return JSON.stringify((await host.api<object>("POST", "/mcp?tools=all", call, { key, headers })).body)
  }
  /** A person may set `autonomous`. A pipeline of an agent is marked. */
  const kindOf = async (key: string, surface: "rest" | "mcp"): Promise<CallerKind> => {
    const title = `Walk ${++number}`
    const workstream = { title, autonomy_mode: "autonomous" }
    const steps = [{ id: "thank", type: "email.send", to: "ada@example.com", heading: "Thanks" }]
    const pipeline = { name: title, state: "proposed", auth_mode: "none", pipeline: steps }
    const created =
      surface === "rest" ? await callRest("POST", "/v1/workstreams", workstream, key) : await mcp("workstreams_create", workstream, key)
    if (!created.includes("for_persons")) {
      expect(created).to.include(title)
      return "person"
    }
    const saved =
      surface === "rest" ? await callRest("POST", "/v1/event-pipelines", pipeline, key) : await mcp("event_pipelines_create", pipeline, key)
    expect(saved).to.include(title)
    return saved.includes("agent-change") ? "agent" : "service"
  }
  const requestApproval = async (key: string) =>
    (await host.api<{ approval_id: string }>("POST", "/v1/gated-notes", { text: "Walked" }, { key })).body.approval_id
  const reasonOf = async (id: string, key: string) => {
    const { status, body } = await host.api<Refusal>("POST", `/v1/approvals/${id}/decide`, { decision: "reject" }, { key })
    return status === 200 ? "decided" : body.details?.reason
  }
  const decides = async (key: string): Promise<DecidingRight> => {
    const own = await reasonOf(await requestApproval(key), key)
    const other = await reasonOf(await requestApproval(ada), key)
    if (own === "decided") expect(other).to.equal("decided")
    else expect(own).to.equal("own_request")
    if (other !== "decided") expect(other).to.equal("decider_not_a_person")
    return own === "decided" ? "own_and_others" : other === "decided" ? "others" : "none"
  }

  for (const [credential, row] of Object.entries(expected))
    it(`${credential}: ${Object.values(row).join(", ")}`, async () => {
      const key = keys[credential as Credential]
      const opened = "session" in row ? await session(key) : undefined
      const walked = {
        rest: await kindOf(key, "rest"),
        mcp: await kindOf(key, "mcp"),
        ...(opened === undefined ? {} : { session: await kindOf(opened, "rest") }),
        decides: await decides(key),
      }
      expect(walked).to.deep.equal(row)
      if (opened !== undefined) expect([await kindOf(opened, "mcp"), await decides(opened)]).to.deep.equal(["agent", walked.decides])
    })

  it("are the rows of the table", () => {
    const { interactive_session, run, ...others } = callerKinds
    const { session: _none, ...interactive } = interactive_session
    const { user_key, user_token, agent_token, service_key } = expected
    expect(others).to.deep.equal({ user_key, user_token, agent_token, service_key })
    expect(interactive).to.deep.equal(expected.interactive_session)
    expect(run).to.include({ rest: "agent", mcp: "agent", decides: "none" })
    const credential = { id: "1", kind: "internal", manager: false } as const
    const user = { id: "2", email: "ada@example.com", staff: false }
    for (const surface of ["rest", "live", "internal", "mcp"] as const) {
      const caller = { surface, credential, user, scopes: undefined }
      expect([callerKind(caller), decidingRight(caller)]).to.deep.equal(["agent", "none"])
    }
  })

  it("close gates and keys of persons to agents over REST", async () => {
    for (const key of [keys.agent_token, keys.service_agent_token, await session(keys.agent_token)]) {
      expect(await callRest("PUT", "/v1/autonomy-gates", { gates: [] }, key)).to.include("closed_to_agents")
      for (const kind of ["token", "api_key"]) {
        const input = { name: "More", kind, ...(kind === "token" ? { scopes: ["mcp"] } : {}) }
        expect(await callRest("POST", "/v1/api-keys", input, key)).to.include("closed_to_agents")
      }
      const response = await host.api<{ kind: string; prefix: string }>(
        "POST",
        "/v1/api-keys",
        { name: "Less", kind: "agent", scopes: ["mcp"] },
        { key },
      )
      expect([response.status, response.body.kind, response.body.prefix.startsWith("mr_token_")]).to.deep.equal([200, "agent", true])
    }
    expect(await callRest("PUT", "/v1/autonomy-gates", { gates: null }, keys.service_key)).to.include("gate_everything")
    const { status, body } = await host.api<Refusal>("POST", "/v1/api-keys", { name: "Bare", kind: "agent" })
    expect([status, body.details?.reason]).to.deep.equal([400, "invalid_fields"])
  })
})
