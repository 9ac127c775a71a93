// If-Match: a document changed since the read is not overwritten, and the header is never ignored.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { call } from "./surface-bench.ts"

describe("If-Match", () => {
  let host: TestHost
  before(async () => {
    host = await testHost()
  })
  after(() => host.stop())

  const send = (method: string, path: string, body?: unknown, tag?: string) =>
    call(host, method, path, {
      key: host.adminKey,
      ...(body === undefined ? {} : { body }),
      ...(tag === undefined ? {} : { headers: { "if-match": tag } }),
    })
  const tagOf = async (path: string) => (await send("GET", path)).headers.get("etag") ?? ""

  const resources = [
    {
      kind: "dataset",
      make: ["/v1/datasets", { name: "Tagged" }],
      method: "PATCH",
      path: "/v1/datasets/tagged",
      change: (name: string) => ({ name }),
    },
    {
      kind: "pipeline",
      make: ["/v1/event-pipelines", { name: "Tagged", pipeline: [{ type: "live.broadcast", channel: "x" }] }],
      method: "PUT",
      path: "/v1/event-pipelines/tagged",
      change: (name: string) => ({ name }),
    },
  ] as const

  for (const { kind, make, method, path, change } of resources) {
    it(`lets a ${kind} be changed only as it was read`, async () => {
      const created = await send("POST", make[0], make[1])
      expect(created.status, created.text).to.be.oneOf([200, 201])
      const first = await tagOf(path)
      expect((await send(method, path, change("Second"), first)).status).to.equal(200)
      for (const stale of [first, '"zzz"', 'W/"zzz", "yyy"', "zzz", ""]) {
        const refused = await send(method, path, change("Lost"), stale)
        expect([refused.status, refused.json["code"]], stale).to.deep.equal([409, "aborted"])
        expect(refused.json.details).to.include({ reason: "etag_mismatch", current_etag: await tagOf(path) })
      }
      expect((await send("GET", path)).json["name"]).to.equal("Second")
      const second = await tagOf(path)
      expect((await send(method, path, change("Third"), `"other", ${second.replace("W/", "")}`)).status).to.equal(200)
      expect((await send(method, path, change("Fourth"), "*")).status).to.equal(200)
      expect((await send("GET", path)).json["name"]).to.equal("Fourth")
    })

    it(`lets one of several changes of a ${kind} through that start from the same tag`, async () => {
      const tag = await tagOf(path)
      const answers = await Promise.all(["a", "b", "c", "d"].map((name) => send(method, path, change(name), tag)))
      expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 409, 409, 409])
    })

    it(`holds a ${kind} to both, where a revision is expected as well`, async () => {
      const { revision } = (await send("GET", path)).json as unknown as { revision: number }
      const tag = await tagOf(path)
      expect((await send(method, path, { ...change("No"), expected_revision: revision + 1 }, tag)).status).to.equal(409)
      expect((await send(method, path, { ...change("Yes"), expected_revision: revision }, tag)).status).to.equal(200)
    })
  }

  it("holds a workstream to the tag of its read, where the revision is nested", async () => {
    const created = await send("POST", "/v1/workstreams", { title: "Tagged" })
    const { slug } = (created.json as unknown as { workstream: { slug: string } }).workstream
    const path = `/v1/workstreams/${slug}`
    const first = await tagOf(path)
    expect((await send("PATCH", path, { title: "Second" }, first)).status).to.equal(200)
    expect((await send("PATCH", path, { title: "Lost" }, first)).status).to.equal(409)
    const refused = await send("PUT", `${path}/external-refs`, { external_refs: [], expected_revision: 2 }, await tagOf(path))
    expect([refused.status, refused.json.details["reason"]]).to.deep.equal([400, "if_match_unsupported"])
    expect(refused.json["message"]).to.match(/leave it out, or give "expected_revision"/)
  })

  it("is offered by the OpenAPI document exactly for the writes that honour it", async () => {
    const { paths } = (await send("GET", "/openapi.json")).json as unknown as {
      paths: Record<string, Record<string, { operationId: string; parameters?: { $ref?: string }[] }>>
    }
    const offered = Object.values(paths)
      .flatMap((methods) => Object.values(methods))
      .filter(({ parameters }) => parameters?.some(({ $ref }) => $ref?.endsWith("/IfMatch")))
      .map(({ operationId }) => operationId)
    expect(offered).to.include.members(["datasets.update", "event_pipelines.update", "workstreams.update"])
    expect(offered).to.not.include("workstreams.set_external_refs")
  })

  it("finds nothing where there is nothing", async () => {
    expect((await send("PATCH", "/v1/datasets/nowhere", { name: "x" }, "*")).status).to.equal(404)
  })

  it("is refused by a write that cannot promise it, and nothing is done", async () => {
    for (const [method, path, body] of [
      ["POST", "/v1/datasets", { name: "Unmade" }],
      ["DELETE", "/v1/integrations/0190a000-0000-7000-8000-00000000000a", undefined],
    ] as const) {
      for (const tag of ['"zzz"', "*"]) {
        const refused = await send(method, path, body, tag)
        expect([refused.status, refused.json.details["reason"]], `${method} ${path}`).to.deep.equal([400, "if_match_unsupported"])
        expect(refused.json["message"]).to.contain("expected_revision")
      }
    }
    expect((await send("GET", "/v1/datasets/unmade")).status).to.equal(404)
  })

  it("has no opposite: If-None-Match on a write is refused, with any value, and nothing is done", async () => {
    const tag = await tagOf("/v1/datasets/tagged")
    const { name } = (await send("GET", "/v1/datasets/tagged")).json
    for (const header of ["*", tag, '"zzz"', ""]) {
      for (const [method, path, body] of [
        ["PATCH", "/v1/datasets/tagged", { name: "Unwanted" }],
        ["PUT", "/v1/event-pipelines/tagged", { name: "Unwanted" }],
        ["POST", "/v1/datasets", { name: "Unwanted" }],
      ] as const) {
        const refused = await call(host, method, path, { key: host.adminKey, body, headers: { "if-none-match": header } })
        expect([refused.status, refused.json.details?.["reason"]], `${method} ${header}`).to.deep.equal([400, "if_none_match_unsupported"])
      }
    }
    expect((await send("GET", "/v1/datasets/tagged")).json["name"]).to.equal(name)
    expect((await send("GET", "/v1/event-pipelines/tagged")).json["name"]).not.to.equal("Unwanted")
    expect((await send("GET", "/v1/datasets/unwanted")).status).to.equal(404)
  })
})
