// Batches of messages: each message is counted before it runs, and the answers together have a bounded size.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { expectShortTurn, repeatedLongestTurn } from "../../longest-turn.ts"
import { orgA } from "../operations.ts"
import { openSurfaceBench, type SurfaceBench } from "../surface-bench.ts"
import { post, type RpcAnswer } from "./rpc.ts"

interface Message {
  readonly id: number
  readonly result?: { readonly tools?: readonly object[]; readonly isError?: boolean }
  readonly error?: { readonly data?: { readonly code: string; readonly details: { readonly reason: string } } }
}

const headers = { "mcp-protocol-version": "2025-03-26" }

describe("MCP batches", () => {
  describe("are counted", () => {
    let bench: SurfaceBench
    before(async () => {
      bench = await openSurfaceBench({ rateLimits: { key_per_minute: 6, organization_per_minute: 100_000 } })
      bench.clock.stand()
    })
    after(() => bench.close())
    const sendTen = async (message: object) => {
      const key = `key-${bench.keys.all.size}`
      bench.keys.all.set(key, { organization: orgA, role: "member" })
      const as = { url: bench.url, key, headers }
      const answer = await post(
        as,
        Array.from({ length: 10 }, (_, id) => ({ jsonrpc: "2.0", ...("id" in message ? { ...message, id } : message) })),
      )
      return { messages: messagesOf(answer), next: (await post(as, { jsonrpc: "2.0", id: 1, method: "ping" })).status }
    }

    for (const method of ["tools/list", "resources/list", "resources/templates/list"]) {
      it(`refuses ${method} beyond the limit of the key`, async () => {
        const { messages, next } = await sendTen({ id: 0, method })
        const refused = messages.filter(({ error }) => error?.data?.code === "resource_exhausted")
        expect([messages.length, refused.length, next]).to.deep.equal([10, 4, 429])
        expect(messages.filter(({ result }) => result).map(({ id }) => id)).to.deep.equal([0, 1, 2, 3, 4, 5])
      })
    }

    for (const message of [
      { id: 0, method: "ping" },
      { method: "notifications/cancelled", params: { requestId: 1 } },
      { id: 0, method: "tools/call", params: { name: "search_tools", arguments: { query: "notes" } } },
      { id: 0, method: "nothing/known" },
    ]) {
      it(`counts each ${message.method}${"id" in message ? "" : " notification"}`, async () => {
        expect((await sendTen(message)).next).to.equal(429)
      })
    }

    it("count a single message once", async () => {
      bench.keys.all.set("single", { organization: orgA, role: "member" })
      const as = { url: bench.url, key: "single" }
      for (let call = 0; call < 6; call++)
        expect((await post(as, { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "notes_list" } })).status).to.equal(200)
      expect((await post(as, { jsonrpc: "2.0", id: 1, method: "tools/list" })).status).to.equal(429)
    })
  })

  describe("of a whole service", () => {
    let host: TestHost
    before(async () => {
      host = await testHost()
    })
    after(() => host.stop())
    const hundred = (message: object) =>
      post(
        { url: host.url, key: host.adminKey, headers },
        Array.from({ length: 100 }, (_, id) => ({ jsonrpc: "2.0", id, ...message })),
      )

    it("end with refusals once their answers have 400,000 characters, and let other requests run in between", async () => {
      for (const message of [
        { method: "tools/list" },
        { method: "tools/call", params: { name: "describe_tool", arguments: { name: "experiments_report" } } },
        { method: "resources/read", params: { uri: "millrace://action-types" } },
      ]) {
        const { value: answer, milliseconds } = await repeatedLongestTurn(() => hundred(message))
        const messages = messagesOf(answer)
        const reasons = messages.map(
          ({ error, result }) => error?.data?.details.reason ?? (result?.isError ? "batch_too_large" : "answered"),
        )
        expect(messages, message.method).to.have.length(100)
        expect(answer.text.length, message.method).to.be.at.most(600_000)
        expect(reasons.indexOf("batch_too_large"), message.method).to.be.greaterThan(2)
        expect(reasons.lastIndexOf("answered"), message.method).to.be.lessThan(reasons.indexOf("batch_too_large"))
        expectShortTurn(milliseconds, message.method)
      }
    })

    it("longer than 100 messages are refused as a whole", async () => {
      const answer = await post(
        { url: host.url, key: host.adminKey, headers },
        Array.from({ length: 101 }, (_, id) => ({ jsonrpc: "2.0", id, method: "ping" })),
      )
      expect(answer.status).to.equal(400)
    })
  })
})

/** All messages of an answer, in order of their ids. */
function messagesOf({ text }: RpcAnswer): Message[] {
  const lines = [...text.matchAll(/^data: (.*)$/gm)].map(([, line = ""]) => JSON.parse(line) as Message)
  return lines.sort((left, right) => left.id - right.id)
}
