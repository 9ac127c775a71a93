// Allowed deciders: never with the same root, user or manager as the requester, for any chain of keys between them.
import { expect } from "chai"
import { Store, UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { ApiKeys, Organizations } from "../../../plugins/platform/organizations/index.ts"
import { collectionNamed } from "../collection-named.ts"
import { gatedNotes, memberOf } from "./gated-notes.ts"

interface Refusal {
  readonly details?: { readonly reason?: string }
}
type Options = { key: string; headers?: Record<string, string> }

describe("deciders of approvals", () => {
  let host: TestHost
  let second: string
  before(async () => {
    host = await testHost({ plugins: [gatedNotes] })
    second = (await memberOf(host, "second")).key
  })
  after(() => host.stop())

  const requestApproval = async (options: Options) =>
    (await host.api<{ approval_id: string }>("POST", "/v1/gated-notes", { text: "Asked" }, options)).body.approval_id
  const decide = async (id: string, options: Options, decision = "reject") => {
    const { status, body } = await host.api<Refusal>("POST", `/v1/approvals/${id}/decide`, { decision }, options)
    return status === 200 ? "decided" : body.details?.reason
  }
  const createKey = async (options: Options, more: object = {}) => {
    const input = { name: "Made", role: "admin", ...more }
    return (await host.api<{ id: string; secret: string }>("POST", "/v1/api-keys", input, options)).body
  }
  const session = async (key: string) => {
    const body = JSON.stringify({ key })
    const response = await fetch(`${host.url}/console-session`, { method: "POST", headers: { "content-type": "application/json" }, body })
    return /mr_session=([^;]+)/.exec(response.headers.get("set-cookie") ?? "")?.[1] ?? ""
  }
  const service = () =>
    host.get(UnitsOfWork).run((work) => {
      const keyOptions = { name: "service", kind: "api_key", role: "admin", scopes: null, user: null } as const
      return host.get(ApiKeys).mint(work, host.organization.id, keyOptions).text
    })
  /** Stores keys in the form of earlier versions. */
  const forgetOrigins = async (organization = host.organization.id) => {
    const keys = await host.get(Store).open(collectionNamed(host, "api_keys"), organization).find({})
    await host.get(UnitsOfWork).run((work) => {
      for (const { id } of keys) work.in(collectionNamed(host, "api_keys"), organization).update(id, { $unset: { origins: true } })
    })
  }

  for (const version of ["this version", "an earlier version"] as const)
    it(`are never of one root or user: keys of ${version}`, async () => {
      const owner = { key: host.adminKey }
      const manager = await createKey(owner, { role: "owner", manager: true })
      const other = await createKey(owner, { role: "owner", manager: true })
      const below = await createKey({ key: manager.secret })
      const grandchild = await createKey({ key: below.secret })
      const root = await service()
      const [one, two] = [await createKey({ key: root }), await createKey({ key: root })]
      const deep = await createKey({ key: one.secret })
      if (version === "an earlier version") await forgetOrigins()
      const user = await createKey(owner, { role: "owner" })
      const families = [
        [host.adminKey, manager.secret, other.secret, below.secret, grandchild.secret, user.secret, await session(host.adminKey)],
        [root, one.secret, two.secret, deep.secret, await session(two.secret)],
      ]
      for (const family of families)
        for (const asks of family) {
          const id = await requestApproval({ key: asks })
          for (const key of family) expect(await decide(id, { key }, "approve")).to.equal("own_request")
          expect(await decide(id, { key: second })).to.equal("decided")
        }
      expect(await decide(await requestApproval({ key: root }), { key: host.adminKey })).to.equal("decided")
    })

  for (const version of ["this version", "an earlier version"] as const)
    it(`are never of one manager in its client: keys of ${version}`, async () => {
      const suffix = version === "this version" ? "now" : "then"
      const organizations = host.get(Organizations)
      const { client, theirs } = await host.get(UnitsOfWork).run((work) => {
        const { id } = organizations.create(work, { name: "Client", slug: `client-${suffix}` })
        const { id: user } = organizations.addUser(work, { email: `${suffix}@client.example` })
        organizations.addMember(work, id, user, "owner")
        organizations.setManager(work, id, { id: host.organization.id, role: "admin" })
        const keyOptions = { name: "theirs", kind: "api_key", role: "owner", scopes: null, user } as const
        return { client: id, theirs: host.get(ApiKeys).mint(work, id, keyOptions).text }
      })
      const inside = (key: string): Options => ({ key, headers: { "x-organization-id": client } })
      const colleague = await memberOf(host, `colleague-${suffix}`)
      const managers = [
        inside(host.adminKey),
        inside(colleague.key),
        inside((await createKey({ key: host.adminKey }, { manager: true })).secret),
      ]
      const child = await createKey(managers[0] ?? inside(""))
      const grandchild = await createKey({ key: child.secret })
      const byColleague = await createKey(managers[1] ?? inside(""))
      if (version === "an earlier version") {
        await forgetOrigins(client)
        await forgetOrigins()
      }
      const family = [...managers, { key: child.secret }, { key: grandchild.secret }, { key: byColleague.secret }]
      for (const asks of family) {
        const id = await requestApproval(asks)
        for (const options of family) expect(await decide(id, options, "approve")).to.equal("own_request")
        expect(await decide(id, { key: theirs })).to.equal("decided")
      }
      const own = await requestApproval({ key: theirs })
      expect(await decide(own, { key: theirs })).to.equal("own_request")
      expect(await decide(own, { key: child.secret })).to.equal("decider_not_a_person")
      expect(await decide(own, managers[1] ?? inside(""))).to.equal("decided")
    })
})
