// UUIDs in callers' notation: in either case (RFC 9562 section 4), answered in lower case.
import { expect } from "chai"
import { z } from "zod"
import { SlugOrId, Uuid } from "#core"
import { type TestHost, testHost } from "#core/testing"

describe("a UUID of a caller", () => {
  let host: TestHost
  before(async () => {
    host = await testHost()
  })
  after(() => host.stop())

  const create = async (path: string, body: object) => {
    const answer = await host.api<{ id: string }>("POST", path, body)
    expect(answer.status, JSON.stringify(answer.body)).to.be.oneOf([200, 201])
    return answer.body.id
  }

  it("is the same in upper case, wherever one is taken", async () => {
    const page = await create("/v1/pages", { title: "Spring" })
    const dataset = await create("/v1/datasets", { name: "Leads" })
    const pipeline = await create("/v1/event-pipelines", { name: "Of a page", owner_artifact_id: page.toUpperCase() })
    for (const [path, id] of [
      ["/v1/pages", page],
      ["/v1/datasets", dataset],
      ["/v1/event-pipelines", pipeline],
    ] as const) {
      const { status, body } = await host.api<{ id: string }>("GET", `${path}/${id.toUpperCase()}`)
      expect([status, body.id], path).to.deep.equal([200, id])
    }
    const owned = await host.api<{ owner_artifact_id: string }>("GET", `/v1/event-pipelines/${pipeline}`)
    expect(owned.body.owner_artifact_id).to.equal(page)

    const rows = `/v1/datasets/${dataset.toUpperCase()}/rows`
    const { body } = await host.api<{ row_ids: string[] }>("POST", rows, { rows: [{ n: 1 }] })
    expect((await host.api("DELETE", `${rows}/${body.row_ids[0]?.toUpperCase()}`)).status).to.equal(200)
  })

  it("finds what a key did, and ends the key", async () => {
    const { body: me } = await host.api<{ credential: { id: string } }>("GET", "/v1/me")
    const by = async (actor: string) => (await host.api<{ audit_log: unknown[] }>("GET", `/v1/audit-log?actor=${actor}`)).body.audit_log
    const key = await create("/v1/api-keys", { name: "Ended" })
    expect(await by(me.credential.id.toUpperCase()))
      .to.deep.equal(await by(me.credential.id))
      .and.not.to.deep.equal([])
    expect((await host.api("POST", `/v1/api-keys/${key.toUpperCase()}/revoke`)).status).to.equal(200)
  })

  it("is a uuid in JSON Schema, asked for and answered", () => {
    for (const io of ["input", "output"] as const) {
      expect(z.toJSONSchema(Uuid, { io })).to.include({ type: "string", format: "uuid" })
      expect(z.toJSONSchema(SlugOrId, { io })).to.include({ type: "string", maxLength: 100 })
    }
  })
})
