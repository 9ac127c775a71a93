// Documents uploaded by a link: larger than a call's body, accepted once, read in, and then deleted from the bucket.
import { type ClientRequest, request } from "node:http"
import { expect } from "chai"
import { Store, UnitsOfWork } from "#core"
import type { TestHost } from "#core/testing"
import { Buckets } from "../../../plugins/data/buckets/index.ts"
import { ApiKeys, Organizations } from "../../../plugins/platform/organizations/index.ts"
import { onBothStores } from "../../pipeline/stores.ts"
import { patiently, until } from "../../waiting.ts"
import { collectionNamed } from "../collection-named.ts"
import { KnowledgeBench, type Refused } from "./bench.ts"
import { pdfSaying } from "./documents.ts"

interface Offer {
  readonly upload_id: string
  readonly upload_url: string
  readonly max_bytes: number
}

const hourMs = 3_600_000
const limit = 2_000_000

onBothStores("documents that are uploaded", ({ start }) => {
  let bench: KnowledgeBench
  let host: TestHost
  before(async () => {
    const knowledge = { max_uploaded_bytes: limit, max_characters: 4_000_000 }
    host = await start({ env: { MILLRACE_JOBS_POLL_MS: "50", MILLRACE_PLUGINS_SETTINGS: JSON.stringify({ knowledge }) } })
    bench = new KnowledgeBench(host)
  })

  const offer = async () => (await host.api<Offer>("POST", "/v1/knowledge-uploads", {})).body
  const send = async (url: string, body: Uint8Array | string) => {
    const answer = await fetch(url, { method: "PUT", body: typeof body === "string" ? body : Buffer.from(body) })
    return { status: answer.status, body: (await answer.json()) as Refused & { bytes?: number } }
  }
  const refused = async (input: object, key?: string) => {
    const { status, body } = await host.api<Refused>("POST", "/v1/knowledge", input, key === undefined ? {} : { key })
    return [status, body.details?.reason]
  }
  const stored = (id: string) => host.get(Store).open(collectionNamed(host, "knowledge_files"), host.organization.id).get(id)
  const object = (id: string) => host.get(Buckets).open(host.organization.id).get(`knowledge/${id}.txt`)
  const other = () =>
    host.get(UnitsOfWork).run((work) => {
      const { id } = host.get(Organizations).create(work, { name: "Other", slug: "other" })
      return host.get(ApiKeys).mint(work, id, { name: "k", kind: "api_key", role: "admin", scopes: null, user: null }).text
    })

  it("become items and new versions of them, and leave nothing in the bucket", async () => {
    const first = await offer()
    expect(first.max_bytes).to.equal(limit)
    const text = `${"Every line of a long report. ".repeat(60_000)}kestrel`
    expect(text.length).to.be.greaterThan(1_048_576)
    expect(await send(first.upload_url, text)).to.deep.equal({ status: 200, body: { upload_id: first.upload_id, bytes: text.length } })
    expect((await object(first.upload_id))?.size).to.equal(text.length)
    const item = await bench.create({ title: "Report", type: "text", upload_id: first.upload_id })
    expect(await bench.whenRead(item.id)).to.include({ content_state: "ready", content: text })
    await bench.find("kestrel", 1)
    const second = await offer()
    await send(second.upload_url, pdfSaying("Turnover doubled"))
    const changed = { type: "pdf", upload_id: second.upload_id }
    expect((await host.api("PATCH", `/v1/knowledge/${item.id}`, changed)).status).to.equal(200)
    expect(await bench.whenRead(item.id)).to.include({ content: "Turnover doubled", content_version: 2 })
    for (const { upload_id } of [first, second])
      await until("the upload being gone", async () => !(await stored(upload_id)) && !(await object(upload_id)))
  })

  it("are taken once, by the link that was given, while it lasts, and by one item", async () => {
    const { upload_id, upload_url } = await offer()
    expect(await refused({ upload_id })).to.deep.equal([400, "upload_awaited"])
    expect((await send(upload_url, "")).body.details.reason).to.equal("upload_empty")
    const large = await send(upload_url, "x".repeat(limit + 1))
    expect(large.status).to.equal(413)
    const requests = await Promise.all(["one", "two", "three"].map((text) => send(upload_url, text)))
    expect(requests.map(({ status }) => status).sort()).to.deep.equal([200, 400, 400])
    expect(requests.flatMap(({ body }) => body.details?.reason ?? [])).to.deep.equal(["upload_taken", "upload_taken"])
    expect((await send(upload_url, "four")).body.details.reason).to.equal("upload_taken")
    const winner = ["one", "two", "three"][requests.findIndex(({ status }) => status === 200)]
    const key = await other()
    expect(await refused({ upload_id }, key)).to.deep.equal([404, "upload_not_found"])
    expect(await refused({ upload_id, content: "x" })).to.deep.equal([400, "knowledge_content_refused"])
    const responses = await Promise.all([0, 1, 2].map(() => host.api<{ id: string } & Refused>("POST", "/v1/knowledge", { upload_id })))
    const [item] = responses.flatMap(({ status, body }) => (status === 200 ? [body] : []))
    expect(responses.map(({ status }) => status).filter((status) => status === 200)).to.have.length(1)
    expect(await bench.whenRead(item?.id ?? "")).to.include({ content: winner })
    await until("the upload being gone", async () => !(await stored(upload_id)))
    expect(await refused({ upload_id })).to.deep.equal([404, "upload_not_found"])
  })

  it("are refused to links that were changed", async () => {
    const { upload_url } = await offer()
    const nowhere = "0199f3a2-7c1e-7d40-9b3a-5e2f6c8d1a04"
    const own = new URL(upload_url)
    const { organization } = host
    for (const change of [
      (url: URL) => url.searchParams.delete("signature"),
      (url: URL) => url.searchParams.set("signature", `${url.searchParams.get("signature")}A`),
      (url: URL) => url.searchParams.set("signature", "A".repeat(43)),
      (url: URL) => {
        url.pathname = url.pathname.replace(organization.id, nowhere)
      },
      (url: URL) => {
        url.pathname = url.pathname.replace(/[^/]+$/, nowhere)
      },
      (url: URL) => {
        url.pathname = url.pathname.replace(/[^/]+$/, "%00")
      },
    ]) {
      const changed = new URL(own)
      change(changed)
      const { status, body } = await send(changed.href, "x")
      expect([status, body.details.reason], changed.href).to.deep.equal([403, "upload_link_refused"])
    }
  })

  it("are refused while as many are being sent as a node takes", async () => {
    const offers = await Promise.all(Array.from({ length: 17 }, offer))
    const slow = new Set<ClientRequest>()
    // Sent again if a busy machine answered 503.
    const hold = (url: string) => {
      const sending = request(url, { method: "PUT", headers: { "content-length": "10" } })
      slow.add(sending)
      sending.on("error", () => undefined).on("response", () => hold(url))
      sending.write("x")
    }
    for (const { upload_url } of offers.slice(0, 16)) hold(upload_url)
    const last = offers[16]?.upload_url ?? ""
    await until("a seventeenth being refused", async () => {
      // A complete document uses up the link.
      const { status, body } = await send(last, "")
      return status === 503 && body.details.reason === "uploads_busy"
    })
    for (const sending of slow) sending.removeAllListeners("response").destroy()
    await until("there being room again", async () => (await send(last, "at last")).status === 200)
  })

  it("go when nobody made an item of them, and with their item", async () => {
    const [idle, message, doomed] = [await offer(), await offer(), await offer()]
    await send(message.upload_url, "unclaimed")
    await send(doomed.upload_url, "deleted before it is read")
    const item = await bench.create({ upload_id: doomed.upload_id })
    expect((await host.api("DELETE", `/v1/knowledge/${item.id}`)).status).to.be.oneOf([200, 409])
    await bench.host.api("DELETE", `/v1/knowledge/${item.id}`)
    await until("the item's upload being gone", async () => !(await stored(doomed.upload_id)) && !(await object(doomed.upload_id)))
    await host.clock.move(hourMs + 1_000)
    // A node whose clock jumped may need to renew its lease.
    await patiently(() => host.api("GET", "/v1/me"))
    expect((await send(idle.upload_url, "late")).body.details.reason).to.equal("upload_link_refused")
    expect(await refused({ upload_id: message.upload_id })).to.deep.equal([404, "upload_not_found"])
    for (const { upload_id } of [idle, message])
      await until("the upload being gone", async () => !(await stored(upload_id)) && !(await object(upload_id)))
  })
})
