// Knowledge for callers, on both stores: read in, found by words of any language, changed, and deleted completely.
import { expect } from "chai"
import { AppError, Store, UnitsOfWork } from "#core"
import type { TestHost } from "#core/testing"
import { ApiKeys, Organizations } from "../../../plugins/platform/organizations/index.ts"
import { onBothStores } from "../../pipeline/stores.ts"
import { rivalOf } from "../../rival-commits.ts"
import { until } from "../../waiting.ts"
import { collectionNamed } from "../collection-named.ts"
import { KnowledgeBench, type Refused } from "./bench.ts"

interface StoredIndex {
  readonly segments: readonly { readonly parts: number }[]
  readonly unfinished?: readonly { readonly parts: number }[]
}

onBothStores("knowledge", ({ start }) => {
  let bench: KnowledgeBench
  let host: TestHost
  before(async () => {
    host = await start({ env: { MILLRACE_JOBS_POLL_MS: "50" } })
    bench = new KnowledgeBench(host)
  })

  it("has the fields of the specification and the text of what was read", async () => {
    const item = await bench.create({
      title: "Refunds",
      description: "For the desk.",
      category: "policies",
      content: "# Refunds\r\n\r\nWithin 30 days.",
    })
    const fields = "category content content_state created_at description id title type updated_at"
    expect(item).to.include.all.keys(...fields.split(" "))
    expect(item).to.include({ content_state: "pending", content: "", type: "markdown", version: 1, content_version: 0 })
    const read = await bench.whenRead(item.id)
    expect(read).to.include({ content_state: "ready", content: "# Refunds\n\nWithin 30 days.", content_version: 1, content_reason: "" })
  })

  it("finds words of any language, in any case and with or without accents, and marks them", async () => {
    const texts = [
      "東京都庁舎は新宿区にあります。",
      "北京大学的图书馆每天开放。",
      "ร้านเปิดทุกวันเวลาเก้าโมง",
      "Die Öffnungszeiten der Straße sind täglich.",
      "The libraries' catalogues are closed on Sundays.",
    ]
    const items = await Promise.all(texts.map((content) => bench.create({ title: "Languages", category: "languages", content })))
    const requests = ["新宿", "图书馆", "ทุกวัน", "offnungszeiten", "LIBRARY catalogue"]
    for (const [place, q] of requests.entries()) {
      const [match] = await bench.find(q, 1, "&category=languages")
      expect(match?.id, q).to.equal(items[place]?.id)
      const [piece] = match?.highlights ?? []
      expect(piece?.marks.map(({ from, to }) => piece.text.slice(from, to)).join(" "), q).to.match(
        /^(?:新宿|图书馆|ทุกวัน|Öffnungszeiten|libraries catalogues)/,
      )
    }
    expect(await bench.search("東京 nowhere", "&category=none")).to.deep.equal([])
  })

  it("ranks by how rare and how frequent words are, filters, pages and explains", async () => {
    const category = "ranking"
    const many = Array.from({ length: 12 }, (_, n) =>
      bench.create({ title: `Note ${n}`, category, content: `invoice note number ${n}`.repeat(1 + (n % 3)) }),
    )
    const rare = await bench.create({ title: "Kestrel", category, content: "An invoice about a kestrel." })
    await Promise.all(many)
    const all = await bench.find("invoice kestrel", 13, "&category=ranking")
    expect(all[0]?.id).to.equal(rare.id)
    expect(all.map(({ score }) => score)).to.deep.equal(all.map(({ score }) => score).sort((a, b) => b - a))
    const pages: string[] = []
    for (let cursor = "", n = 0; n === 0 || cursor !== ""; n++) {
      const path = `/v1/knowledge-search?q=invoice+kestrel&category=ranking&limit=5&cursor=${cursor}`
      const { body } = await bench.api<{ items: { id: string }[]; next_cursor: string }>("GET", path)
      pages.push(...body.items.map(({ id }) => id))
      cursor = body.next_cursor
    }
    expect(pages).to.deep.equal(all.map(({ id }) => id))
    expect(await bench.search("kestrel", "&type=pdf")).to.deep.equal([])
    const [explained] = await bench.search("invoice kestrel", "&category=ranking&explain=true&limit=1")
    const how = explained?.explanation
    expect(how?.words?.rank).to.equal(1)
    expect(how?.words?.each.map(({ word, items }) => [word, items])).to.deep.equal([
      ["invoice", 13],
      ["kestrel", 1],
    ])
    expect(how?.words?.each.reduce((sum, { score }) => sum + score, 0)).to.be.closeTo(explained?.score ?? 0, 1e-9)
    expect(how?.meaning).to.equal(null)
  })

  it("keeps versions, and what was read until the next is", async () => {
    const { id } = await bench.create({ category: "versions", content: "# First\n\nAbout herons." })
    const first = await bench.whenRead(id)
    expect(first.title).to.equal("First")
    await bench.find("herons", 1)
    const same = await bench.api("PATCH", `/v1/knowledge/${id}`, { ...first, id: undefined })
    expect([same.status, same.body]).to.deep.equal([200, first])
    const changed = await bench.api<{ version: number; content: string }>("PATCH", `/v1/knowledge/${id}`, {
      content: "# Second\n\nAbout storks.",
    })
    expect([changed.status, changed.body.version, changed.body.content]).to.deep.equal([200, 2, "# First\n\nAbout herons."])
    expect((await bench.whenRead(id)).content).to.equal("# Second\n\nAbout storks.")
    await bench.find("storks", 1)
    expect(await bench.search("herons")).to.deep.equal([])
    await bench.api("PATCH", `/v1/knowledge/${id}`, { content: " " })
    const failed = await bench.whenRead(id)
    expect(failed).to.include({
      content_state: "failed",
      content_reason: "no_text",
      content_version: 2,
      content: "# Second\n\nAbout storks.",
    })
    const versions = await bench.api<{ versions: { version: number; content_state: string }[] }>("GET", `/v1/knowledge/${id}/versions`)
    expect(versions.body.versions.map(({ version, content_state }) => [version, content_state])).to.deep.equal([
      [3, "failed"],
      [2, "ready"],
      [1, "ready"],
    ])
    expect((await bench.api<{ content: string }>("GET", `/v1/knowledge/${id}/versions/1`)).body.content).to.equal(
      "# First\n\nAbout herons.",
    )
    const none = await bench.api<Refused>("GET", `/v1/knowledge/${id}/versions/9`)
    expect([none.status, none.body.details.reason]).to.deep.equal([404, "knowledge_version_not_found"])
    await bench.api("PATCH", `/v1/knowledge/${id}`, { category: "birds" })
    await bench.find("storks", 1, "&category=birds")
  })

  it("marks words in the beginning of a long text without reading the rest, always of the version that is shown", async () => {
    const store = host.get(Store)
    const openings = () => store.open(collectionNamed(host, "knowledge_openings"), host.organization.id).find({})
    const filler = "It rains. ".repeat(3_000)
    const { id } = await bench.create({ title: "Weather", content: `The first okapi. ${filler} The last okapi.` })
    const marked = async () => (await bench.search("okapi"))[0]?.highlights.map(({ text }) => text.slice(0, 16))
    await bench.find("okapi", 1)
    expect(await marked()).to.deep.equal(["The first okapi."])
    const open = store.open.bind(store)
    let reads = 0
    store.open = ((spec: { name: string }, organization: string) => {
      if (spec.name === "knowledge_versions") reads++
      return open(spec as never, organization)
    }) as unknown as typeof store.open
    try {
      expect(await marked()).to.deep.equal(["The first okapi."])
    } finally {
      store.open = open as typeof store.open
    }
    expect(reads).to.equal(0)
    await bench.api("PATCH", `/v1/knowledge/${id}`, { content: `A second okapi. ${filler}` })
    await until("the new version being marked", async () => (await marked())?.[0] === "A second okapi. ")
    expect(await openings()).to.have.length(1)
    await bench.api("PATCH", `/v1/knowledge/${id}`, { content: "A short okapi." })
    await until("the short version being marked", async () => (await marked())?.[0] === "A short okapi.")
    expect(await openings()).to.deep.equal([])
    await bench.api("DELETE", `/v1/knowledge/${id}`)
  })

  it("leaves no trace of what was deleted", async () => {
    await bench.create({ title: "Beside it", content: "The herons stay." })
    const { id } = await bench.create({ title: "Zyzzogeton", content: "The zyzzogeton lives quietly." })
    const long = await bench.create({ title: "At length", content: "The zyzzogeton. ".repeat(2_000) })
    const failing = await bench.create({ title: "Zyzzogeton too", type: "text", content: "\0" })
    await bench.whenRead(failing.id)
    await bench.find("zyzzogeton", 2)
    for (const value of [id, long.id, failing.id]) expect((await bench.api("DELETE", `/v1/knowledge/${value}`)).status).to.equal(200)
    expect(await bench.search("zyzzogeton")).to.deep.equal([])
    const organization = host.organization.id
    const store = host.get(Store)
    const everything = async () => {
      const positions: unknown[] = []
      for (const collection of [
        collectionNamed(host, "knowledge_items"),
        collectionNamed(host, "knowledge_versions"),
        collectionNamed(host, "knowledge_uploads"),
        collectionNamed<StoredIndex>(host, "knowledge_indexes"),
        collectionNamed(host, "knowledge_removals"),
        collectionNamed(host, "knowledge_openings"),
      ] as const)
        positions.push(await store.open(collection, organization).find({}, { limit: 1_000 }))
      for (const { base64 } of await store
        .open(collectionNamed<{ base64: string }>(host, "knowledge_segments"), organization)
        .find({}, { limit: 1_000 }))
        positions.push(Buffer.from(base64, "base64").toString("latin1"))
      const audit = await bench.api("GET", "/v1/audit-log?limit=200")
      return JSON.stringify([positions, audit.body])
    }
    await until("the index being written again", async () => !/zyzzogeton/i.test(await everything()))
    expect(await everything()).to.include("herons")
  })

  it("shows nothing of it to others, and refuses what is not content", async () => {
    const { id } = await bench.create({ title: "Ours", content: "Only ours." })
    await bench.whenRead(id)
    const name = `other-${Date.now()}`
    const other = await host.get(UnitsOfWork).run((work) => host.get(Organizations).create(work, { name, slug: name }))
    const key = await host.get(UnitsOfWork).run((work) => {
      const keyOptions = { name: "Key", kind: "api_key", role: "admin", scopes: null, manager: false, user: null } as const
      return host.get(ApiKeys).mint(work, other.id, keyOptions).text
    })
    for (const [method, path] of [
      ["GET", ""],
      ["PATCH", ""],
      ["DELETE", ""],
      ["GET", "/versions"],
      ["GET", "/versions/1"],
    ] as const) {
      const answer = await bench.api<Refused>(method, `/v1/knowledge/${id}${path}`, method === "PATCH" ? { title: "Mine" } : undefined, {
        key,
      })
      expect([answer.status, answer.body.details.reason], method + path).to.deep.equal([404, "knowledge_not_found"])
    }
    const search = await bench.api<{ items: unknown[] }>("GET", "/v1/knowledge-search?q=ours", undefined, { key })
    expect(search.body.items).to.deep.equal([])
    const foreign = await bench.api<{ next_cursor: string }>("GET", "/v1/knowledge?limit=1")
    expect((await bench.api("GET", `/v1/knowledge?limit=1&cursor=${foreign.body.next_cursor}`, undefined, { key })).status).to.equal(400)
    for (const input of [{}, { content: "x", url: "https://example.com/" }, { type: "pdf", content: "x" }]) {
      const { status, body } = await bench.api<Refused>("POST", "/v1/knowledge", input)
      expect([status, body.details.reason], JSON.stringify(input)).to.deep.equal([400, "knowledge_content_refused"])
    }
  })

  it("removes the parts of a segment that an ended process left unfinished", async () => {
    const organization = host.organization.id
    const first = await bench.create({ title: "First", content: "A whimbrel." })
    await bench.find("whimbrel", 1)
    const parts = ["unfinished:0", "unfinished:1"]
    await host.get(UnitsOfWork).run((work) => {
      work
        .in(collectionNamed<{ base64: string }>(host, "knowledge_segments"), organization)
        .insert({ id: parts[0] as string, base64: "AAAA" })
      work
        .in(collectionNamed<StoredIndex>(host, "knowledge_indexes"), organization)
        .update(organization, { $set: { unfinished: [{ id: "unfinished", parts: 2 }] } })
    })
    await bench.create({ title: "Second", content: "Another whimbrel." })
    await bench.find("whimbrel", 2)
    const store = host.get(Store)
    expect(
      await store.open(collectionNamed<{ base64: string }>(host, "knowledge_segments"), organization).find({ id: { $in: parts } }),
    ).to.deep.equal([])
    const index = await store.open(collectionNamed<StoredIndex>(host, "knowledge_indexes"), organization).get(organization)
    expect(index?.unfinished).to.deep.equal([])
    expect((await bench.read(first.id)).content).to.equal("A whimbrel.")
  })

  it("removes the parts of a segment of many parts in several commits", async () => {
    const organization = host.organization.id
    const store = host.get(Store)
    await bench.create({ title: "Before", content: "A godwit." })
    await bench.find("godwit", 1)
    const parts = [0, 255, 256, 599].map((part) => `large:${part}`)
    const removals: number[] = []
    const commits = rivalOf(host, "knowledge_segments", 100, {
      only: ({ kind }) => kind === "remove",
      faster: async () => {
        const index = await store.open(collectionNamed<StoredIndex>(host, "knowledge_indexes"), organization).get(organization)
        removals.push((index?.unfinished ?? []).reduce((sum, part) => sum + part.parts, 0))
      },
    })
    await host.get(UnitsOfWork).run((work) => {
      for (const id of parts)
        work.in(collectionNamed<{ base64: string }>(host, "knowledge_segments"), organization).insert({ id, base64: "AAAA" })
      work
        .in(collectionNamed<StoredIndex>(host, "knowledge_indexes"), organization)
        .update(organization, { $set: { unfinished: [{ id: "large", parts: 600 }] } })
    })
    await bench.create({ title: "Third", content: "A curlew." })
    await bench.find("curlew", 1)
    const index = async () => await store.open(collectionNamed<StoredIndex>(host, "knowledge_indexes"), organization).get(organization)
    await until("the removal", async () => (await index())?.unfinished?.length === 0)
    commits.stop()
    expect(removals[0]).to.be.at.least(600)
    const removed = removals.map((remaining, at) => remaining - (removals[at + 1] ?? 0))
    expect(Math.max(...removed)).to.equal(256)
    expect(
      await store.open(collectionNamed<{ base64: string }>(host, "knowledge_segments"), organization).find({ id: { $in: parts } }),
    ).to.deep.equal([])
  })

  it("stores a large segment in several commits, and searches the earlier index until the last", async () => {
    const organization = host.organization.id
    const store = host.get(Store)
    await bench.create({ title: "Fourth", content: "A dunlin." })
    await bench.find("dunlin", 1)
    const meanwhile: unknown[] = []
    const refused = rivalOf(host, "knowledge_segments", 1, {
      only: (write) => write.kind === "insert" && write.doc.id.endsWith(":4"),
      faster: async () => {
        const index = await store.open(collectionNamed<StoredIndex>(host, "knowledge_indexes"), organization).get(organization)
        meanwhile.push(index?.unfinished?.length, (await bench.search("dunlin")).length, (await bench.search("w3a7")).length)
        throw new AppError("unavailable", "The disk is full.", { reason: "storage_full" })
      },
    })
    const content = Array.from({ length: 60_000 }, (_, n) => `w${n.toString(36)}`).join(" ")
    await bench.create({ title: "Fifth", content })
    await bench.find("w3a7", 1)
    refused.stop()
    expect(meanwhile).to.deep.equal([1, 1, 0])
    const index = await store.open(collectionNamed<StoredIndex>(host, "knowledge_indexes"), organization).get(organization)
    expect(index?.unfinished).to.deep.equal([])
    const partCount = index?.segments.reduce((sum, { parts }) => sum + parts, 0)
    expect(await store.open(collectionNamed<{ base64: string }>(host, "knowledge_segments"), organization).count({})).to.equal(partCount)
  })
})
