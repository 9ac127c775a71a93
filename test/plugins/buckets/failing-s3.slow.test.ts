// An S3 server with every kind of failure. An object is complete or refused with a reason, none is lost, and no reader waits for
// ever.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { buffer } from "node:stream/consumers"
import { expect } from "chai"
import { AppError } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { type Bucket, Buckets } from "../../../plugins/data/buckets/index.ts"
import { pluginSettings } from "./stores.ts"

const secret = "failing-S3-SECRET-5d11"

/** Each replaces the server's answer. */
const faults: Record<string, (response: ServerResponse) => unknown> = {
  "is down": (response) => response.destroy(),
  "does not answer": () => undefined,
  "answers 500 with a page": (response) => response.writeHead(500, { "content-type": "text/html" }).end("<p>Oops"),
  "answers 503 and nothing": (response) => response.writeHead(503).end(),
  "answers 403": (response) => response.writeHead(403).end(`<Error><Code>AccessDenied</Code><Message>${secret}</Message></Error>`),
  "answers 404 with XML that ends early": (response) => response.writeHead(404, { "content-type": "application/xml" }).end("<Error><Co"),
  "closes within the answer": (response) => response.writeHead(200, { "content-length": "99" }).write("{", () => response.destroy()),
  "stops within the answer": (response) => response.writeHead(200, { "content-length": "99" }).write("{"),
}

describe("buckets in S3 that fails", () => {
  const objects = new Map<string, Buffer>()
  let fails: ((response: ServerResponse) => unknown) | undefined
  let server: Server
  let host: TestHost
  let bucket: Bucket

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { method, url = "" } = request
    const key = new URL(url, "http://loopback").pathname
    const body = await buffer(request)
    if (fails) return fails(response)
    if (method === "PUT") objects.set(key, body)
    if (method === "DELETE") objects.delete(key)
    const bytes = objects.get(key)
    if (method !== "GET") response.writeHead(method === "PUT" ? 200 : 204).end()
    else if (bytes) response.writeHead(200, { "content-length": bytes.length }).end(bytes)
    else response.writeHead(404, { "content-type": "application/xml" }).end("<Error><Code>NoSuchKey</Code></Error>")
  }
  const read = async () => {
    const match = await bucket.get("kept.png")
    return match && String(await buffer(match.chunks))
  }

  before(async () => {
    server = createServer((request, response) => void answer(request, response))
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const s3 = {
      ...{ bucket: "failing", endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, path_style: true },
      ...{ access_key_id: "key", secret_access_key: secret, timeout_ms: 1_000 },
    }
    host = await testHost({ env: pluginSettings({ buckets: { s3 } }) })
    bucket = host.get(Buckets).open(host.organization.id)
  })
  afterEach(() => {
    fails = undefined
  })
  after(async () => {
    await host.stop()
    server.closeAllConnections()
    server.close()
  })

  for (const [what, how] of Object.entries(faults)) {
    it(`neither give nor lose an object where it ${what}`, async () => {
      await bucket.put("kept.png", Buffer.from("as it was"))
      fails = how
      for (const [kind, call] of [
        ["store", () => bucket.put("new.png", Buffer.from("new"))],
        ["give", read],
        ["remove", () => bucket.remove("kept.png")],
      ] as const) {
        const refusal = await call().then(
          () => undefined,
          (error: unknown) => error,
        )
        // The answer to a PUT or a DELETE is its status; its body has no meaning.
        if (refusal === undefined && kind !== "give") continue
        expect(refusal, kind).to.be.instanceOf(AppError)
        const { code, details, message } = refusal as AppError
        expect([code, details.reason]).to.deep.equal(["unavailable", "bucket_unavailable"])
        expect(message).to.contain(`did not ${kind} the object`).and.not.to.contain(secret)
      }
      fails = undefined
      expect(await read()).to.equal("as it was")
      await bucket.remove("kept.png")
      expect(await read()).to.equal(undefined)
      expect(host.logged.join("\n")).not.to.contain(secret)
    })
  }
})
