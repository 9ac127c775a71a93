// Public routes over HTTP: matching, answers, and precedence of other routes.

import { gzipSync } from "node:zlib"
import { expect } from "chai"
import fc from "fast-check"
import { z } from "zod"
import { AppError, Clock, definePlugin, defineRoute, type RouteRequest } from "#core"
import { type TestHost, testHost } from "#core/testing"
import type { Route } from "../../core/contract/route.ts"
import type { ErrorBody } from "../../core/kernel/errors.ts"
import { until } from "../waiting.ts"

type RequestInput = Pick<RouteRequest, "method" | "url" | "params" | "headers" | "address">

describe("public routes", () => {
  const inputs: RequestInput[] = []
  const remember = ({ method, url, params, headers, address }: RouteRequest) => void inputs.push({ method, url, params, headers, address })
  let closed = 0
  let content = "the same for everybody. ".repeat(100)
  const base = { summary: "For a test.", method: "GET" } as const
  const routes = [
    defineRoute({
      ...base,
      name: "probe.one",
      path: "/probe/{org}/{page}",
      inject: { clock: Clock },
      handle({ request, deps }) {
        remember(request)
        return {
          status: 203,
          headers: { "X-Now": String(deps.clock.now() > 0), "Set-Cookie": ["a=1", "b=2"] },
          body: `one ${request.query.get("q")}`,
        }
      },
    }),
    defineRoute({ ...base, name: "probe.literal", path: "/probe/fixed/{page}", handle: () => ({ body: "literal" }) }),
    defineRoute({
      ...base,
      name: "probe.rest",
      path: "/files/{org}/{path+}",
      origins: "any",
      handle({ request }) {
        remember(request)
        return { body: request.params["path"] ?? "" }
      },
    }),
    defineRoute({
      ...base,
      name: "probe.stream",
      path: "/probe-stream",
      handle: () => ({ headers: { "Content-Type": "application/octet-stream" }, body: endless(() => closed++) }),
    }),
    defineRoute({
      ...base,
      name: "probe.shared",
      path: "/probe-shared",
      handle: () => ({
        headers: { "Content-Type": "text/plain; charset=utf-8", "Cache-Control": "max-age=9" },
        body: content,
        shared: true,
      }),
    }),
    defineRoute({
      ...base,
      name: "probe.fails",
      path: "/probe-fails/{how}",
      handle({ request }) {
        if (request.params["how"] === "known") throw new AppError("failed_precondition", "Not now.", { reason: "not_active" })
        throw new Error("SECRET-CAUSE")
      },
    }),
    defineRoute({
      ...base,
      name: "probe.post",
      method: "POST",
      path: "/probe/{org}/{page}",
      maxBodyBytes: 10,
      handle: async ({ request }) => ({ body: await request.body() }),
    }),
  ] as const
  let host: TestHost
  before(async () => {
    host = await testHost({ plugins: [pluginOf("probe", ...routes)] })
  })
  after(() => host.stop())

  it("hands over path, query, headers and address, and asks for no credential", async () => {
    const answer = await fetch(`${host.url}/probe/acme/spring%20sale?q=%C3%A9`, {
      headers: { "X-Test": "t", authorization: "Bearer wrong" },
    })
    expect([answer.status, await answer.text()]).to.deep.equal([203, "one é"])
    expect(answer.headers.getSetCookie()).to.deep.equal(["a=1", "b=2"])
    expect(answer.headers.get("x-now")).to.equal("true")
    expect(answer.headers.get("x-request-id")).not.to.equal(null)
    const request = inputs.at(-1)
    expect(request?.params).to.deep.equal({ org: "acme", page: "spring sale" })
    expect([request?.method, request?.url, request?.headers["x-test"], request?.address]).to.deep.equal([
      "GET",
      "/probe/acme/spring%20sale?q=%C3%A9",
      "t",
      "127.0.0.1",
    ])
  })

  it("prefers literal segments, and takes the rest of a path where it is asked to", async () => {
    expect(await (await fetch(`${host.url}/probe/fixed/x`)).text()).to.equal("literal")
    await fc.assert(
      fc.asyncProperty(fc.array(fc.stringMatching(/^[\w é%?#&-]{1,8}$/), { minLength: 1, maxLength: 4 }), async (segments) => {
        const answer = await fetch(`${host.url}/files/acme/${segments.map(encodeURIComponent).join("/")}`)
        expect(await answer.text()).to.equal(segments.join("/"))
      }),
      { numRuns: 30 },
    )
  })

  it("answers HEAD as GET without the body, OPTIONS with the methods, and other methods with 405", async () => {
    const head = await fetch(`${host.url}/probe/acme/x`, { method: "HEAD" })
    expect([head.status, await head.text()]).to.deep.equal([203, ""])
    expect(inputs.at(-1)?.method).to.equal("GET")
    const options = await fetch(`${host.url}/probe/acme/x`, { method: "OPTIONS" })
    expect([options.status, options.headers.get("allow")]).to.deep.equal([204, "GET, HEAD, OPTIONS, POST"])
    const put = await fetch(`${host.url}/probe/acme/x`, { method: "PUT" })
    expect([put.status, put.headers.get("allow"), ((await put.json()) as { code: string }).code]).to.deep.equal([
      405,
      "GET, HEAD, OPTIONS, POST",
      "unimplemented",
    ])
  })

  it("lets pages of other origins in only where the route says so", async () => {
    const headers = { origin: "https://elsewhere.test", "access-control-request-method": "GET" }
    const allowed = async (path: string, method: string) =>
      (await fetch(host.url + path, { method, headers })).headers.get("access-control-allow-origin")
    expect([await allowed("/files/a/b", "GET"), await allowed("/files/a/b", "OPTIONS")]).to.deep.equal(["*", "*"])
    expect([await allowed("/probe/a/b", "GET"), await allowed("/probe/a/b", "OPTIONS")]).to.deep.equal([null, null])
  })

  it("reads a body up to its bound", async () => {
    const post = (body: string) => fetch(`${host.url}/probe/a/b`, { method: "POST", body })
    expect(await (await post("0123456789")).text()).to.equal("0123456789")
    expect(await (await post("")).text()).to.equal("")
    const large = await post("0123456789x")
    expect([large.status, await large.json()]).to.deep.equal([
      413,
      { code: "resource_exhausted", message: "The body is larger than 10 bytes.", details: { reason: "body_too_large", max_bytes: 10 } },
    ])
  })

  it("decompresses a body within the limit of its bytes", async () => {
    const headers = { "content-encoding": "gzip" }
    const post = (text: string) => fetch(`${host.url}/probe/a/b`, { method: "POST", headers, body: gzipSync(text) })
    const packed = await post("0123456789")
    expect([packed.status, await packed.text()]).to.deep.equal([200, "0123456789"])
    expect((await post("0".repeat(1_000))).status).to.equal(413)
  })

  it("refuses a body of an unknown encoding with 415, before it reads it", async () => {
    for (const encoding of ["zstd", "gzip, br"]) {
      const headers = { "content-encoding": encoding }
      const packed = await fetch(`${host.url}/probe/a/b`, { method: "POST", headers, body: gzipSync("0123456789") })
      const { code, message, details } = (await packed.json()) as ErrorBody
      expect([packed.status, code, details]).to.deep.equal([415, "invalid_argument", { reason: "unsupported_content_encoding" }])
      expect(message).to.include(`"${encoding}"`).and.include("gzip, deflate, br")
    }
    const plain = await fetch(`${host.url}/probe/a/b`, { method: "POST", headers: { "content-encoding": "identity" }, body: "as it is" })
    expect([plain.status, await plain.text()]).to.deep.equal([200, "as it is"])
  })

  it("tags and compresses what everybody gets, and answers 304 where the client has it until the text changes", async () => {
    const get = (headers: Record<string, string> = {}, method = "GET") => fetch(`${host.url}/probe-shared`, { method, headers })
    const first = await get({ "accept-encoding": "identity" })
    const tag = first.headers.get("etag") ?? ""
    expect(tag).to.match(/^(?:W\/)?"[^"]+"$/)
    expect([first.status, await first.text()]).to.deep.equal([200, content])
    expect(first.headers.get("cache-control")).to.equal("max-age=9")
    expect(first.headers.get("content-type")).to.equal("text/plain; charset=utf-8")
    expect(first.headers.get("vary")?.toLowerCase()).to.include("accept-encoding")
    for (const encoding of ["gzip", "br"]) {
      const packed = await get({ "accept-encoding": encoding })
      expect([packed.headers.get("content-encoding"), packed.headers.get("etag"), await packed.text()]).to.deep.equal([
        encoding,
        tag,
        content,
      ])
      expect(Number(packed.headers.get("content-length"))).to.be.below(content.length / 2)
    }
    const head = await get({}, "HEAD")
    expect([head.status, head.headers.get("etag"), await head.text()]).to.deep.equal([200, tag, ""])
    const had = await get({ "if-none-match": `"another", ${tag}` })
    expect([had.status, had.headers.get("etag"), await had.text()]).to.deep.equal([304, tag, ""])
    const before = content
    content = "another text"
    try {
      const changed = await get({ "if-none-match": tag })
      expect([changed.status, await changed.text()]).to.deep.equal([200, "another text"])
      expect(changed.headers.get("etag")).to.not.equal(tag)
    } finally {
      content = before
    }
  })

  it("streams as fast as the client reads, and stops when it leaves", async () => {
    const stop = new AbortController()
    const answer = await fetch(`${host.url}/probe-stream`, { signal: stop.signal })
    const first = await answer.body?.getReader().read()
    expect(first?.value?.length).to.be.greaterThan(0)
    expect(closed).to.equal(0)
    stop.abort()
    await until("the stream being stopped", () => closed > 0)
  })

  it("answers errors in the one shape, without causes", async () => {
    const response = await fetch(`${host.url}/probe-fails/known`)
    expect([response.status, await response.json()]).to.deep.equal([
      400,
      { code: "failed_precondition", message: "Not now.", details: { reason: "not_active" } },
    ])
    const unknown = await fetch(`${host.url}/probe-fails/unknown`)
    expect([unknown.status, await unknown.text()].join(" "))
      .to.match(/^500 .*internal/)
      .and.not.contain("SECRET-CAUSE")
    expect((await fetch(`${host.url}/probe/%E0%A4%A/x`)).status).to.equal(400)
  })

  it("leaves every other path alone", async () => {
    expect((await fetch(`${host.url}/openapi.json`)).status).to.equal(200)
    expect((await fetch(`${host.url}/probe/only-one`)).status).to.equal(404)
    expect((await fetch(`${host.url}/v1/datasets`)).status).to.equal(401)
  })

  it("refuses to boot where two answer the same", async () => {
    const clash = (path: string) => defineRoute({ ...base, name: "probe.clash", path, handle: () => ({}) })
    const boot = (...values: Route[]) =>
      testHost({ plugins: [pluginOf("probe", ...values)] }).then(
        () => "booted",
        (error: Error) => error.message,
      )
    expect(await boot(routes[0] as Route, clash("/probe/{a}/{b}"))).to.match(/"probe\.one".*"probe\.clash".*GET \/probe/)
    expect(await boot(clash("/v1/datasets/{any}"))).to.match(/operation "datasets\.get".*"probe\.clash"/)
  })
})

function pluginOf(id: string, ...routes: readonly Route[] | readonly unknown[]) {
  return definePlugin({ id, config: z.strictObject({}), register: (reg) => reg.routes(...(routes as Route[])) })
}

async function* endless(closing: () => void): AsyncIterable<Uint8Array> {
  try {
    for (;;) yield Buffer.alloc(65_536)
  } finally {
    closing()
  }
}
