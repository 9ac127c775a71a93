// An approved call runs only while its credential is valid: the revocation occurs between the approval and the job.
import { expect } from "chai"
import { Store, type UnitOfWork, UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { Approvals } from "../../../plugins/platform/approvals/approvals.ts"
import { UserSessions } from "../../../plugins/platform/identity/index.ts"
import { ApiKeys } from "../../../plugins/platform/organizations/index.ts"
import { Members } from "../../../plugins/platform/organizations/members/members.ts"
import { until } from "../../waiting.ts"
import { gatedNotes, memberOf, NoteCollection, performed, signedIn } from "./gated-notes.ts"

interface Approval {
  readonly receipt: { readonly ok: boolean; readonly error: { readonly reason: string | null } | null } | null
}
interface Key {
  readonly id: string
  readonly secret: string
}

describe("approved calls", () => {
  let host: TestHost
  before(async () => {
    host = await testHost({ plugins: [gatedNotes] })
  })
  after(() => host.stop())

  const createKey = async (key: string, more: object = {}) =>
    (await host.api<Key>("POST", "/v1/api-keys", { name: "Made", role: "admin", ...more }, { key })).body
  const opened = async (key: string) => {
    const body = JSON.stringify({ key })
    const response = await fetch(`${host.url}/console-session`, { method: "POST", headers: { "content-type": "application/json" }, body })
    return /mr_session=([^;]+)/.exec(response.headers.get("set-cookie") ?? "")?.[1] ?? ""
  }
  const revoke = async (work: UnitOfWork, id: string) => {
    const keys = host.get(ApiKeys)
    keys.revoke(work, host.organization.id, await keys.get(host.organization.id, id))
  }
  const endSessions = async (work: UnitOfWork, user: string, how: "ended" | "signed_out") => {
    for await (const session of host.get(UserSessions).valid(user)) host.get(UserSessions).end(work, session, how)
  }
  const remove = async (work: UnitOfWork, user: string) => {
    const members = host.get(Members)
    await members.remove(work, host.organization.id, await members.require(host.organization.id, user))
  }
  /** Requests and approves a call, and stages something else in the commit of the approval. */
  const outcome = async (text: string, key: string, meanwhile: (work: UnitOfWork) => Promise<void>) => {
    const { approval_id: id } = (await host.api<{ approval_id: string }>("POST", "/v1/gated-notes", { text }, { key })).body
    const approvals = host.get(Approvals)
    const approval = await approvals.require(host.organization.id, id)
    const verdict = { by: { credential_id: "test", user_id: null }, note: "", state: "approved" } as const
    await host.get(UnitsOfWork).run(async (work) => {
      approvals.decide(work, host.organization.id, approval, verdict)
      await meanwhile(work)
    })
    const { receipt } = await until("the receipt", async () => {
      const { body } = await host.api<Approval>("GET", `/v1/approvals/${id}`)
      return body.receipt ? body : undefined
    })
    const notes = await host.get(Store).open(NoteCollection, host.organization.id).count({ text })
    expect([notes, performed.get(text) ?? 0]).to.deep.equal(receipt?.ok ? [1, 1] : [0, 0])
    return receipt?.ok ? "done" : receipt?.error?.reason
  }

  it("do not run after their key, token, session or member ended", async () => {
    const scopes = ["gated_notes:write"]
    const ada = await memberOf(host, "ada")
    const other = await createKey(ada.key)
    const token = await createKey(ada.key, { kind: "token", scopes })
    const agent = await createKey(ada.key, { kind: "agent", scopes })
    const cases: [string, string, (work: UnitOfWork) => Promise<void>][] = [
      ["session of a revoked key", await opened(other.secret), (work) => revoke(work, other.id)],
      ["token", token.secret, (work) => revoke(work, token.id)],
      ["agent token", agent.secret, (work) => revoke(work, agent.id)],
      ["ended session", await signedIn(host, ada.user), (work) => endSessions(work, ada.user, "ended")],
      ["key", ada.key, (work) => revoke(work, ada.id)],
    ]
    for (const [name, key, meanwhile] of cases) expect(await outcome(`Ended: ${name}`, key, meanwhile), name).to.equal("requester_revoked")
  })

  it("run after a sign-out, and for a key whose sibling was revoked", async () => {
    const bob = await memberOf(host, "bob")
    const other = await createKey(bob.key)
    expect(await outcome("Signed out", await signedIn(host, bob.user), (work) => endSessions(work, bob.user, "signed_out"))).to.equal(
      "done",
    )
    expect(await outcome("Sibling", bob.key, (work) => revoke(work, other.id))).to.equal("done")
  })

  it("of a removed member do not run", async () => {
    for (const by of ["key", "session"] as const) {
      const cyd = await memberOf(host, `cyd-${by}`)
      const key = by === "key" ? cyd.key : await signedIn(host, cyd.user)
      expect(await outcome(`Removed: ${by}`, key, (work) => remove(work, cyd.user))).to.equal("requester_revoked")
    }
  })
})
