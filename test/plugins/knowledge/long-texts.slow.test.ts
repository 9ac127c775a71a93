// Long documents are read, split into words and indexed while the service serves others.
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { expect } from "chai"
import { Store, UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { IndexCollection, PartCollection, partId, RemovalCollection } from "../../../plugins/data/knowledge/collections.ts"
import { Segment } from "../../../plugins/data/knowledge/indexing/segment.ts"
import { expectShortTurn, longestTurn, printLongestTurns, repeatedLongestTurn } from "../../longest-turn.ts"
import { SendingThread } from "../../sending-thread.ts"
import { untilProcess as until } from "../../waiting.ts"
import { type Item, KnowledgeBench } from "./bench.ts"

const million = 1_000_000
const kana = Array.from({ length: 80 }, (_, n) => String.fromCodePoint(0x3041 + n)).join("")
const words = Array.from({ length: 140_000 }, (_, n) => `w${n.toString(36)}`).join(" ")

describe("long documents", () => {
  let bench: KnowledgeBench
  let host: TestHost
  let site: Server
  let base = ""
  /** The client in another thread, so its work does not count as the service's. */
  let sender: SendingThread
  const turns: { what: string; milliseconds: number }[] = []
  before(async () => {
    sender = new SendingThread()
    site = createServer((_request, response) => {
      response.writeHead(200, { "content-type": "text/plain; charset=shift_jis" })
      // Two bytes per letter.
      response.end(Buffer.from("82a082a2".repeat(million / 4), "hex"))
    })
    await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve))
    const address = `127.0.0.1:${(site.address() as AddressInfo).port}`
    base = `http://${address}`
    host = await testHost({ capture: false, env: { MILLRACE_JOBS_POLL_MS: "50", MILLRACE_OUTGOING_ALLOW_HOSTS: address } })
    bench = new KnowledgeBench(host)
  })
  after(async () => {
    printLongestTurns(turns, turns.length)
    await sender.stop()
    await host.stop()
    site.close()
    site.closeAllConnections()
  })

  /** Measures the main thread while `run` works, and returns its result. */
  async function measured<T>(what: string, run: () => Promise<T>, measure = repeatedLongestTurn): Promise<T> {
    const { milliseconds, value } = await measure(run)
    turns.push({ what, milliseconds })
    expectShortTurn(milliseconds, what)
    return value
  }

  async function uploaded(text: Uint8Array, more: object = {}): Promise<Item> {
    const { body } = await bench.api<{ upload_id: string; upload_url: string }>("POST", "/v1/knowledge-uploads")
    const url = new URL(body.upload_url)
    const answer = await sender.put(`${host.url}${url.pathname}${url.search}`, text)
    expect(answer.status).to.equal(200)
    return await whenRead(await bench.create({ type: "text", upload_id: body.upload_id, ...more }))
  }

  /** Reads an item with its whole text. */
  async function readBySender({ id }: Item): Promise<void> {
    const { status } = await sender.get(`${host.url}/v1/knowledge/${id}`, { authorization: `Bearer ${host.adminKey}` })
    expect(status).to.equal(200)
  }

  /** Polls the list, since it omits contents: this thread is also the client. */
  async function whenRead({ id }: Item): Promise<Item> {
    return await until("the item being read in", async () => {
      const { body } = await bench.api<{ items: Item[] }>("GET", "/v1/knowledge")
      return body.items.find((item) => item.id === id && item.content_state !== "pending")
    })
  }

  const refused = {
    "ten megabytes of \\r": ["\r".repeat(10 * million), "too_long"],
    "five megabytes of \\r": ["\r".repeat(5 * million), "too_long"],
    "a megabyte of \\r\\n": ["\r\n".repeat(500_000), "no_text"],
  } as const
  for (const [what, [text, reason]] of Object.entries(refused)) {
    it(`leave the main thread to others while ${what} are read`, async () => {
      const bytes = shared(text)
      const item = await measured(what, () => uploaded(bytes))
      expect([item.content_state, item.content_reason]).to.deep.equal(["failed", reason])
    })
  }

  const indexed = {
    kana: [kana.repeat(million / 80), kana.slice(3, 5)],
    Han: ["漢字文書検索機能".repeat(million / 8), "検索"],
    Thai: ["ภาษาไทย".repeat(140_000), "ภาษา"],
    "different words": [words, "w2a"],
  } as const
  for (const [what, [text, question]] of Object.entries(indexed)) {
    it(`leave the main thread to others while a million characters of ${what} are indexed`, async () => {
      const bytes = shared(text)
      await measured(what, async () => {
        const item = await uploaded(bytes, { title: what })
        expect([item.content_state, item.content_reason]).to.deep.equal(["ready", ""])
        await bench.find(question, 1)
        await readBySender(item)
        await bench.api("DELETE", `/v1/knowledge/${item.id}`)
        await bench.find(question, 0)
      })
    })
  }

  it("leave the main thread to others while the segments of eight are merged", async () => {
    const wordsOf = (document: number) => Array.from({ length: 120_000 }, (_, n) => `d${document}w${n.toString(36)}`).join(" ")
    const index = async () => await host.get(Store).open(IndexCollection, host.organization.id).get(host.organization.id)
    const before = new Set((await index())?.segments.map(({ id }) => id))
    for (let document = 0; document < 8; document++) {
      // Before the measurement: creating the text is the test's own work.
      const text = shared(wordsOf(document))
      const next = async () => {
        await uploaded(text, { title: `merged ${document}` })
        await bench.find(`d${document}w2a`, 1)
      }
      await measured(`document ${document} of a merge`, next, longestTurn)
    }
    // The next item triggers one merge of segments. A repetition would find them merged.
    const merged = await measured(
      "the merge",
      async () => {
        await uploaded(shared("the ninth"), { title: "the ninth" })
        return await until("the merge", async () => {
          const match = await index()
          return match?.segments.every(({ id }) => !before.has(id)) && match.segments.find(({ count }) => count === 8)
        })
      },
      longestTurn,
    )
    expect(merged.parts).to.be.greaterThan(8)
    await measured("a search of the merged segment", async () => expect(await bench.find("d3w2b", 1)).to.have.length(1))
  })

  it("leave the main thread to others while a segment of 40 MB is opened, and written again without an item", async () => {
    const organization = host.organization.id
    const [store, works] = [host.get(Store), host.get(UnitsOfWork)]
    await uploaded(shared("a whimbrel"))
    await bench.find("whimbrel", 1)
    const id = "large"
    const items = Array.from({ length: 10_000 }, (_, n) => idOf(n))
    const parts = textsOf(segmentOf(items))
    for (const [part, base64] of parts.entries())
      await works.run((work) => work.in(PartCollection, organization).insert({ id: partId(id, part), base64 }))
    await works.retryConflicts(async (work) => {
      const index = await store.open(IndexCollection, organization).get(organization)
      const segments = [...(index?.segments ?? []), { id, count: items.length, parts: parts.length }]
      work.in(IndexCollection, organization).update(organization, { $set: { segments, revision: (index?.revision ?? 0) + 1 } })
    })
    await measured("a search of a large segment", async () => expect(await bench.search("heron")).to.have.length(0), longestTurn)
    await works.run((work) => {
      for (const removed of items.slice(-3)) work.in(RemovalCollection, organization).insert({ id: removed })
    })
    await measured(
      "a large segment without an item",
      async () => {
        await uploaded(shared("another"))
        await until("no part of the earlier segment", async () => !(await store.open(PartCollection, organization).get(partId(id, 0))))
      },
      longestTurn,
    )
    const index = await store.open(IndexCollection, organization).get(organization)
    expect(index?.segments.map(({ count }) => count)).to.include(items.length - 3)
  })

  it("of another charset are decoded apart from the main thread", async () => {
    const item = await measured("another charset", async () => await whenRead(await bench.create({ url: `${base}/text` })))
    const { content, content_state } = await bench.read(item.id)
    expect([content_state, content.length, content.slice(0, 4)]).to.deep.equal(["ready", million / 2, "あいあい"])
  })
})

function idOf(n: number): string {
  return `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`
}

/** With long vectors, the largest part of its memory. */
function segmentOf(ids: readonly string[]): Segment {
  const vector = new Float32Array(3_072).fill(1 / Math.sqrt(3_072))
  const words = new Map([["heron", 1]])
  return Segment.make(ids.map((id, n) => ({ id, entry: n, category: "", type: "text", words, vector })))
}

/** In parts of a megabyte, as stored by earlier versions. */
function textsOf(segment: Segment): string[] {
  const text = segment.stored().toString("base64")
  return Array.from({ length: Math.ceil(text.length / 2 ** 20) }, (_, n) => text.slice(n * 2 ** 20, (n + 1) * 2 ** 20))
}

/** In shared memory, so the sending thread reads it without a copy. */
function shared(text: string): Uint8Array {
  const bytes = Buffer.from(text)
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length))
  copy.set(bytes)
  return copy
}
