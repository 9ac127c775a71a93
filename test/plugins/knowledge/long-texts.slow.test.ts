// Long documents: they are read, split into words and indexed while the service serves others.
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { longestTurn } from "../../longest-turn.ts"
import { until } from "../../waiting.ts"
import { type Item, KnowledgeBench } from "./bench.ts"

const million = 1_000_000
const kana = Array.from({ length: 80 }, (_, n) => String.fromCodePoint(0x3041 + n)).join("")
const words = Array.from({ length: 140_000 }, (_, n) => `w${n.toString(36)}`).join(" ")

/** No task may keep the main thread longer. */
const maxTurnMs = 50

describe("long documents", () => {
  let bench: KnowledgeBench
  let host: TestHost
  let site: Server
  let base = ""
  before(async () => {
    site = createServer((_request, response) => {
      response.writeHead(200, { "content-type": "text/plain; charset=shift_jis" })
      // Two bytes a letter.
      response.end(Buffer.from("82a082a2".repeat(million / 4), "hex"))
    })
    await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve))
    const address = `127.0.0.1:${(site.address() as AddressInfo).port}`
    base = `http://${address}`
    host = await testHost({ capture: false, env: { MILLRACE_JOBS_POLL_MS: "50", MILLRACE_OUTGOING_ALLOW_HOSTS: address } })
    bench = new KnowledgeBench(host)
  })
  after(async () => {
    await host.stop()
    site.close()
    site.closeAllConnections()
  })

  async function uploaded(text: string, more: object = {}): Promise<Item> {
    const { body } = await bench.api<{ upload_id: string; upload_url: string }>("POST", "/v1/knowledge-uploads")
    const url = new URL(body.upload_url)
    const answer = await fetch(`${host.url}${url.pathname}${url.search}`, { method: "PUT", body: Buffer.from(text) })
    expect(answer.status).to.equal(200)
    return await settled(await bench.made({ type: "text", upload_id: body.upload_id, ...more }))
  }

  /** Looks at the list, which leaves contents out: this thread is also the client. */
  async function settled({ id }: Item): Promise<Item> {
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
      const { milliseconds, value } = await longestTurn(() => uploaded(text))
      expect([value.content_state, value.content_reason]).to.deep.equal(["failed", reason])
      expect(milliseconds).to.be.below(maxTurnMs)
    })
  }

  const indexed = {
    kana: [kana.repeat(million / 80), kana.slice(3, 5)],
    Han: ["漢字文書検索機能".repeat(million / 8), "検索"],
    Thai: ["ภาษาไทย".repeat(140_000), "ภาษา"],
    "different words": [words, "w2a"],
  } as const
  for (const [what, [text, asked]] of Object.entries(indexed)) {
    it(`leave the main thread to others while a million characters of ${what} are indexed`, async () => {
      const { milliseconds, value } = await longestTurn(async () => {
        const item = await uploaded(text, { title: what })
        await bench.found(asked, 1)
        return item
      })
      expect([value.content_state, value.content_reason]).to.deep.equal(["ready", ""])
      expect(milliseconds).to.be.below(maxTurnMs)
      await bench.api("DELETE", `/v1/knowledge/${value.id}`)
    })
  }

  it("of another charset are decoded apart from the main thread", async () => {
    const { milliseconds, value } = await longestTurn(async () => await settled(await bench.made({ url: `${base}/text` })))
    const { content, content_state } = await bench.read(value.id)
    expect([content_state, content.length, content.slice(0, 4)]).to.deep.equal(["ready", million / 2, "あいあい"])
    expect(milliseconds).to.be.below(maxTurnMs)
  })
})
