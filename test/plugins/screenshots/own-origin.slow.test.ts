// Own pages on a separate origin, and over TLS: reachable although their address is private, unlike anything else there.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { request } from "node:http"
import { createServer } from "node:https"
import { type AddressInfo, connect, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { AppError } from "#core"
import type { TestHost } from "#core/testing"
import { startFilteringProxy } from "../../../plugins/pages/screenshots/proxy/filtering-proxy.ts"
import { testChromium } from "../../chromium.ts"
import { selfSigned } from "../inbound-auth/certificate.ts"
import { type Site, startSite } from "./site.ts"
import { pictureOf, start, startTaking, take } from "./taking.ts"

const green = [0, 128, 0]
const onGreen = (html: string) => `<style>body { background: green }</style>${html}`

describe("screenshots: pages on an origin of their own", () => {
  let pages: Site
  let host: TestHost
  before(async () => {
    pages = await startSite({ "/p/acme/spring": onGreen('<iframe src="/private"></iframe>') })
    host = await startTaking({ pages: { origin: pages.origin } })
  })
  after(async () => {
    await host?.stop()
    await pages?.close()
  })

  it("are pictured by their address there, and by the public one, which sends on to it", async () => {
    const [there, sentOn] = await Promise.all([
      take(host, { url: `${pages.origin}/p/acme/spring` }),
      take(host, { url: `${host.url}/p/acme/spring` }),
    ])
    expect((await pictureOf(there)).at(600, 600)).to.deep.equal(green)
    expect((await pictureOf(sentOn)).at(600, 600)).to.deep.equal(green)
    expect(pages.asked).not.to.include("/private")
  })

  it("open the way to pages only", async () => {
    const { status, body } = await start(host, { url: `${pages.origin}/private` })
    expect([status, body.details.reason]).to.deep.equal([400, "address_refused"])
  })

  it("have that address when a variant is pictured", async () => {
    const script = '<script>document.body.style.background = location.origin === "ORIGIN" ? "green" : "red"</script>'
    const html = `<body>${script.replace("ORIGIN", pages.origin)}`
    const { body } = await host.api<{ slug: string }>("POST", "/v1/pages", { title: "Draft", variants: [{ key: "a", html }] })
    expect((await pictureOf(await take(host, { page: body.slug }))).at(600, 600)).to.deep.equal(green)
  })
})

describe("screenshots: pages over TLS", () => {
  let folder: string
  const urls: string[] = []
  const { pem: cert, key } = selfSigned(new Date(Date.now() - 60_000), new Date(Date.now() + 3_600_000))
  const secure = createServer({ cert, key: key.export({ type: "pkcs8", format: "pem" }) }, (request, response) => {
    const path = request.url ?? ""
    urls.push(`${request.method} ${path}`)
    if (path === "/p/acme/redirect") return void response.writeHead(302, { location: "/metrics" }).end()
    const document = path.startsWith("/p/") ? onGreen(astray) : "<body style='background:red'>private"
    response.writeHead(200, { "content-type": "text/html" }).end(`<!doctype html>${document}`)
  })
  /** Attempts of an own page to reach other paths. */
  const astray = `<iframe src="/metrics" style="position:absolute;left:0;top:0;width:300px;height:300px"></iframe>
    <img src="/private.png"><script>
      fetch("/private")
      fetch("/p/acme/spring", { method: "POST", body: "x" })
      new WebSocket(location.origin.replace("http", "ws") + "/socket")
    </script>`
  let origin: string
  let host: TestHost
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "millrace-tls-"))
    await new Promise<void>((resolve) => secure.listen(0, "127.0.0.1", resolve))
    origin = `https://127.0.0.1:${(secure.address() as AddressInfo).port}`
    host = await startTaking({ pages: { origin }, settings: { executable: await trusting(folder) } })
  })
  after(async () => {
    await host?.stop()
    secure.closeAllConnections()
    await new Promise((resolve) => secure.close(resolve))
    rmSync(folder, { recursive: true })
  })

  it("are pictured, and nothing else of that origin is asked for", async () => {
    const picture = await pictureOf(await take(host, { url: `${origin}/p/acme/spring` }))
    expect([picture.at(600, 600), picture.at(100, 100)]).to.deep.equal([green, green])
    expect(urls).to.deep.equal(["GET /p/acme/spring"])
  })

  it("lead to no picture of anything else", async () => {
    const redirected = await take(host, { url: `${origin}/p/acme/redirect` })
    expect([redirected.status, redirected.error]).to.deep.equal(["failed", "The page redirects to a non-page URL of this service."])
    const direct = await take(host, { url: `${origin.replace("127.0.0.1", "localhost")}/metrics` })
    expect(direct.status).to.equal("failed")
    expect(direct.error).to.match(/^The connection to localhost:\d+ is refused/)
  })
})

describe("screenshots: tunnels of the proxy", () => {
  it("lead past the policy for our own host and port over TLS only", async () => {
    const site = await startSite({})
    const refused = new AppError("failed_precondition", "out of bounds", { reason: "read_only" })
    const open = async (own: string) => {
      const proxy = await startFilteringProxy({
        sockets: { open: () => Promise.reject(refused) },
        own: { origins: [own], prefix: "/p/" },
        maxBytes: 1_000_000,
        exceeded: () => undefined,
      })
      const answer = (target: string) =>
        new Promise<string>((resolve, reject) => {
          const socket = connect(Number(new URL(proxy.url).port), "127.0.0.1", () => socket.write(`CONNECT ${target} HTTP/1.1\r\n\r\n`))
          socket.once("data", (data) => {
            resolve(/ (\d+) /.exec(data.toString())?.[1] ?? "")
            socket.destroy()
          })
          socket.once("error", reject)
        })
      const answers = [await answer(site.host), await answer(`localhost:${site.port}`), await answer("127.0.0.1:1")]
      await proxy.close()
      return answers
    }
    expect(await open(`https://${site.host}`)).to.deep.equal(["200", "403", "403"])
    expect(await open(`http://${site.host}`)).to.deep.equal(["403", "403", "403"])
    await site.close()
  })
})

describe("screenshots: what is sent through the proxy", () => {
  it("reaches other sites, and never our own origin, also where that is public", async () => {
    const [own, other] = [await startSite({ "/p/acme/spring": "spring" }), await startSite({ "/form": "form" })]
    const open = (host: string, port: number) =>
      new Promise<Socket>((resolve) => {
        const socket = connect(port, host, () => resolve(socket))
      })
    const args = { own: { origins: [own.origin], prefix: "/p/" }, maxBytes: 1_000_000, exceeded: () => undefined }
    const proxy = await startFilteringProxy({ ...args, sockets: { open } })
    const answered = (method: string, url: string) =>
      new Promise<number | undefined>((resolve) => {
        const outgoing = request(proxy.url, { method, path: url, agent: false }, (answer) => resolve(answer.resume().statusCode))
        outgoing.on("error", () => resolve(undefined)).end()
      })
    expect(await answered("GET", `${own.origin}/p/acme/spring`)).to.equal(200)
    expect(await answered("POST", `${other.origin}/form`)).to.equal(200)
    expect(await answered("POST", `${own.origin}/p/acme/spring`)).to.equal(undefined)
    expect(await answered("POST", `${own.origin}/v1/inbound/x`)).to.equal(undefined)
    expect(proxy.failureAt(own.host)?.message).to.equal("Nothing can be sent to this service during a screenshot.")
    expect(own.asked).to.deep.equal(["/p/acme/spring"])
    await proxy.close()
    await Promise.all([own.close(), other.close()])
  })
})

/** The packaged Chromium with the test's certificate as trusted. */
async function trusting(folder: string): Promise<string> {
  const { executable, libraries } = await testChromium()
  const script = join(folder, "chromium")
  const path = libraries === undefined ? "" : `LD_LIBRARY_PATH=${libraries} `
  writeFileSync(script, `#!/bin/sh\n${path}exec ${executable} --ignore-certificate-errors "$@"\n`)
  chmodSync(script, 0o755)
  return script
}
