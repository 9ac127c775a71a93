// The trash and the versions of items, over HTTP.
import { expect } from "chai"
import { Ids, Store, UnitsOfWork, Vault } from "#core"
import { TrashCollection } from "#core/engine"
import type { TestHost } from "#core/testing"
import { agentSecretContext } from "../../../plugins/agents/threads/index.ts"
import { ApiKeys } from "../../../plugins/platform/organizations/index.ts"
import { onStoresInTurn } from "../../pipeline/stores.ts"
import { until } from "../../waiting.ts"
import { collectionNamed } from "../collection-named.ts"

interface Trashed {
  id: string
  resource: string
  key: string
  deleted_by: { user_id: string | null }
  deleted_at: string
  expires_at: string
}

interface Version {
  id: string
  revision: number
  fields: Record<string, unknown>
  before: Record<string, unknown> | null
  by: { credential_id: string }
}

const dayMs = 86_400_000

onStoresInTurn("deleted items", ({ start }) => {
  let host: TestHost
  before(async () => {
    host = await start()
  })

  const trash = async (query = "", key?: string) =>
    (await host.api<{ trash: Trashed[] }>("GET", `/v1/trash${query}`, undefined, key ? { key } : {})).body.trash
  const restored = (id: string, key?: string) =>
    host.api<Record<string, unknown>>("POST", `/v1/trash/${id}/restore`, {}, key ? { key } : {})
  const persona = async (name: string) => (await host.api<{ id: string; slug: string }>("POST", "/v1/personas", { name })).body
  const reasonOf = (body: unknown) => (body as { details?: { reason?: string } }).details?.reason

  it("come back with their id, key and a new revision", async () => {
    const { id, slug } = await persona("Ada")
    await host.api("DELETE", `/v1/personas/${slug}`)
    const [item] = await trash()
    expect(item).to.include({ id, resource: "persona", key: slug })
    expect(Date.parse(item?.expires_at ?? "") - Date.parse(item?.deleted_at ?? "")).to.equal(30 * dayMs)
    const { body } = await host.api<{ item: object }>("GET", `/v1/trash/${id}`)
    expect(body.item).to.include({ id, slug, name: "Ada", revision: 1 })
    expect(await restored(id)).to.deep.include({ status: 200, body: { id, resource: "persona", restored: true } })
    expect((await host.api("GET", `/v1/personas/${slug}`)).body).to.include({ id, slug, name: "Ada", revision: 2 })
    expect(await trash()).to.deep.equal([])
    expect(reasonOf((await restored(id)).body)).to.equal("trash_not_found")
  })

  it("keep their secrets sealed, and give them back", async () => {
    const { body } = await host.api<{ id: string; secret: string }>("POST", "/v1/agents", { key: "desk", name: "Desk", protocol: "model" })
    await host.api("DELETE", "/v1/agents/desk")
    const stored = await host.get(Store).open(TrashCollection, host.organization.id).get(body.id)
    const [place] = (stored && TrashCollection.sealed?.(stored)) ?? []
    expect(place).to.include({ path: "document.secret", context: agentSecretContext(body.id) })
    expect(place && host.get(Vault).open(place.sealed, place.context)).to.equal(body.secret)
    const resource = (await host.api("GET", `/v1/trash/${body.id}`)).body
    expect(JSON.stringify([await trash(), resource])).not.to.include("secret")
    expect((await restored(body.id)).status).to.equal(200)
    expect((await host.api("GET", "/v1/agents/desk")).body).to.include({ id: body.id, key: "desk" })
  })

  it("come back with the items inside, and their schedules", async () => {
    const { suite } = (await host.api<{ suite: { id: string } }>("POST", "/v1/evals/suites", { name: "Desk", cron_enabled: true })).body
    const item = { name: "Hours", input: "Open?", expectation: "Yes." }
    await host.api("POST", "/v1/evals/suites/desk/cases", item)
    await host.api("DELETE", "/v1/evals/suites/desk")
    expect((await trash()).map(({ key }) => key)).to.deep.equal(["desk"])
    expect((await restored(suite.id)).status).to.equal(200)
    const { body } = await host.api<{ cases: { slug: string }[] }>("GET", "/v1/evals/suites/desk/cases")
    expect(body.cases.map(({ slug }) => slug)).to.deep.equal(["hours"])
    expect((await host.api("GET", "/v1/evals/suites/desk")).body).to.include({ id: suite.id, cron_enabled: true })
  })

  it("wait for their container", async () => {
    const { suite } = (await host.api<{ suite: { id: string } }>("POST", "/v1/evals/suites", { name: "Later" })).body
    const { id } = (
      await host.api<{ id: string }>("POST", "/v1/evals/suites/later/cases", { name: "Hours", input: "Open?", expectation: "Yes." })
    ).body
    await host.api("DELETE", "/v1/evals/suites/later/cases/hours")
    await host.api("DELETE", "/v1/evals/suites/later")
    expect(reasonOf((await restored(id)).body)).to.equal("suite_not_found")
    expect((await restored(suite.id)).status).to.equal(200)
    expect((await restored(id)).status).to.equal(200)
  })

  it("stay in the trash while another item has the slug", async () => {
    const { id, slug } = await persona("Grace")
    await host.api("DELETE", `/v1/personas/${slug}`)
    const second = await persona("Grace")
    expect(second.slug).to.equal(slug)
    const refused = await restored(id)
    expect({ status: refused.status, reason: reasonOf(refused.body) }).to.deep.equal({ status: 409, reason: "slug_taken" })
    await host.api("DELETE", `/v1/personas/${slug}`)
    expect((await restored(id)).status).to.equal(200)
  })

  it("need the rights of a read to be listed, and of a deletion to be restored", async () => {
    const { id, slug } = await persona("Edsger")
    await host.api("DELETE", `/v1/personas/${slug}`)
    const mint = (role: "guest" | "member", scopes: string[] | null) =>
      host
        .get(UnitsOfWork)
        .run((work) => host.get(ApiKeys).mint(work, host.organization.id, { name: "k", kind: "token", role, scopes, user: null }).text)
    const narrow = await mint("member", ["history:read", "history:write", "evals:read"])
    expect(await trash("", narrow)).to.deep.equal([])
    expect((await restored(id, narrow)).status).to.equal(404)
    const reader = await mint("member", ["history:read", "history:write", "experiments:read"])
    expect((await trash("", reader)).map((item) => item.id)).to.include(id)
    expect((await restored(id, reader)).status).to.equal(403)
    const guest = await mint("guest", ["history:read", "history:write", "experiments:read", "experiments:write"])
    expect((await restored(id, guest)).status).to.equal(403)
    expect((await restored(id)).status).to.equal(200)
  })

  it("obey the rules of a creation", async () => {
    const { suite } = (await host.api<{ suite: { id: string } }>("POST", "/v1/evals/suites", { name: "Full" })).body
    const item = { name: "Hours", input: "Open?", expectation: "Yes." }
    const { id } = (await host.api<{ id: string }>("POST", "/v1/evals/suites/full/cases", item)).body
    await host.api("DELETE", "/v1/evals/suites/full/cases/hours")
    await host.get(UnitsOfWork).run((work) => {
      const at = new Date(host.clock.now()).toISOString()
      const stored = { suite_id: suite.id, rubric: "", critical: false, source: null, revision: 1, created_at: at, updated_at: at }
      for (let n = 0; n < 500; n++)
        work
          .in(collectionNamed<{ slug: string }>(host, "eval_cases"), host.organization.id)
          .insert({ ...item, ...stored, id: host.get(Ids).uuid(), slug: `case-${n}` })
    })
    expect(reasonOf((await restored(id)).body)).to.equal("suite_full")
  })

  it("refuse an agent if only a person may create the item", async () => {
    const template = { title: "Launch", autonomy_mode: "autonomous" }
    const { id, slug } = (await host.api<{ id: string; slug: string }>("POST", "/v1/workstream-templates", template)).body
    await host.api("DELETE", `/v1/workstream-templates/${slug}`)
    const minted = {
      name: "k",
      kind: "agent",
      role: "admin",
      scopes: ["history:write", "workstream_templates:read", "workstream_templates:write"],
    } as const
    const agent = await host
      .get(UnitsOfWork)
      .run((work) => host.get(ApiKeys).mint(work, host.organization.id, { ...minted, scopes: [...minted.scopes], user: null }).text)
    expect(reasonOf((await restored(id, agent)).body)).to.equal("for_persons")
    expect((await restored(id)).status).to.equal(200)
  })

  it("go after 30 days", async () => {
    const { id, slug } = await persona("Barbara")
    await host.api("DELETE", `/v1/personas/${slug}`)
    host.clock.move(31 * dayMs)
    await until("the end of the item", async () => (await restored(id)).status === 404)
  })
})

onStoresInTurn("versions of an item", ({ start }) => {
  let host: TestHost
  before(async () => {
    host = await start()
  })
  const versions = async (id: string) =>
    (await host.api<{ versions: Version[] }>("GET", `/v1/versions?resource=persona&item_id=${id}`)).body.versions

  it("name the author and the earlier values of each change", async () => {
    const { id } = (await host.api<{ id: string }>("POST", "/v1/personas", { name: "Ada", goals: ["Time"] })).body
    await host.api("PATCH", "/v1/personas/ada", { goals: ["Time", "Money"] })
    await host.api("PATCH", "/v1/personas/ada", { goals: ["Time", "Money"] })
    const [second, first, ...more] = await versions(id)
    expect(more).to.deep.equal([])
    expect(first).to.deep.include({ revision: 1, before: null })
    expect(second).to.deep.include({ revision: 2, before: { goals: ["Time"] } })
    expect(second?.fields).to.deep.equal({ name: "Ada", description: "", goals: ["Time", "Money"], fears: [] })
    expect(second?.by.credential_id).to.match(/^[0-9a-f-]{36}$/)
  })

  it("give their fields back as a new version", async () => {
    const { id } = (await host.api<{ id: string }>("POST", "/v1/personas", { name: "Grace" })).body
    await host.api("PATCH", "/v1/personas/grace", { name: "Grace H." })
    const [, first] = await versions(id)
    const answer = await host.api("POST", `/v1/versions/${first?.id}/restore`, {})
    expect(answer.body).to.deep.equal({ resource: "persona", item_id: id, revision: 3 })
    expect((await host.api("GET", "/v1/personas/grace")).body).to.include({ name: "Grace", revision: 3 })
    expect((await versions(id)).map(({ revision }) => revision)).to.deep.equal([3, 2, 1])
    await host.api("DELETE", "/v1/personas/grace")
    expect((await host.api("POST", `/v1/versions/${first?.id}/restore`, {})).status).to.equal(404)
    const unknown = await host.api("POST", `/v1/versions/${id}/restore`, {})
    expect((unknown.body as { details?: { reason?: string } }).details?.reason).to.equal("version_not_found")
  })
})
