// The reach of a page in the browser: own pages, but no other private address, by any path.
import { createSocket } from "node:dgram"
import { once } from "node:events"
import { expect } from "chai"
import { z } from "zod"
import { definePlugin, defineRoute } from "#core"
import type { TestHost } from "#core/testing"
import { type Site, startSite } from "./site.ts"
import { pictureOf, start, startTaking, take } from "./taking.ts"

const green = [0, 128, 0]
const red = [255, 0, 0]

/** Tries every path open to a page, then shows green, or red if any path succeeded. */
function everyWay(inside: { origin: string; port: number; stun: number }): string {
  const hosts = ["127.0.0.1", "localhost", "0x7f000001", "127.1", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "inside.localhost"]
  const urls = hosts.map((host) => `http://${host}:${inside.port}`)
  return `
    ${urls.map((url) => `<img src="${url}/img"><link rel="stylesheet" href="${url}/css"><link rel="preconnect" href="${url}">`).join("")}
    <link rel="dns-prefetch" href="//inside.localhost"><link rel="prefetch" href="${inside.origin}/prefetch">
    <iframe src="${inside.origin}/frame"></iframe><object data="${inside.origin}/object"></object>
    <video src="${inside.origin}/video" autoplay></video><script src="${inside.origin}/script"></script>
    <img src="/to-inside"><iframe src="/to-inside"></iframe>
    <iframe id="blank"></iframe><a id="ping" href="#here" ping="${inside.origin}/ping">x</a>
    <script>
      let through = ""
      const urls = ${JSON.stringify(urls)}
      const settled = []
      for (const url of urls) {
        settled.push(fetch(url + "/fetch", { mode: "no-cors" }).then(() => (through += " fetch " + url), () => {}))
        settled.push(new Promise((done) => {
          const socket = new WebSocket(url.replace("http", "ws") + "/echo")
          socket.onopen = () => { through += " socket " + url; done() }
          socket.onerror = done
        }))
      }
      settled.push(fetch("/to-inside", { mode: "no-cors" }).then(() => (through += " redirect"), () => {}))
      navigator.sendBeacon(urls[0] + "/beacon", "x")
      document.querySelector("#ping").click()
      const events = new EventSource(urls[0] + "/events")
      events.onopen = () => (through += " events")
      const worker = new Worker(URL.createObjectURL(new Blob(['fetch("${inside.origin}/worker", { mode: "no-cors" }).then(() => postMessage("worker"), () => postMessage(""))'])))
      settled.push(new Promise((done) => { worker.onmessage = ({ data }) => { through += data; done() } }))
      for (const scope of [globalThis, document.querySelector("#blank").contentWindow]) {
        const Peer = scope.RTCPeerConnection || scope.webkitRTCPeerConnection
        if (!Peer) continue
        through += " peer connections"
        const peer = new Peer({ iceServers: [{ urls: "stun:127.0.0.1:${inside.stun}" }] })
        peer.createDataChannel("x")
        peer.createOffer().then((offer) => peer.setLocalDescription(offer))
      }
      if (globalThis.WebTransport) settled.push(new WebTransport("https://127.0.0.1:${inside.stun}/").ready.then(() => (through += " transport"), () => {}))
      Promise.all(settled).then(() => {
        document.body.innerHTML = '<div id="over" style="height:400px;background:' + (through ? "red" : "green") + '">' + through + "</div>"
      })
    </script>`
}

describe("screenshots: what a page can reach", () => {
  let outside: Site
  let inside: Site
  let host: TestHost
  let packets = 0
  const urls: string[] = []
  const stun = createSocket("udp4")
  before(async () => {
    stun.on("message", () => packets++).bind(0, "127.0.0.1")
    await once(stun, "listening")
    inside = await startSite({})
    const to =
      (target: () => string): Parameters<typeof startSite>[0][string] =>
      (_request, response) =>
        void response.writeHead(302, { location: target() }).end()
    outside = await startSite({
      "/every-way": everyWay({ origin: inside.origin, port: inside.port, stun: stun.address().port }),
      "/to-inside": to(() => `${inside.origin}/redirected`),
      "/to-service": to(() => `${host.url}/private-route`),
      "/to-own": to(() => `${host.url}/p/probe/own/here`),
      "/script": `<script>location.href = "${inside.origin}/by-script"</script>`,
      "/link": `<a id="in" href="${inside.origin}/by-link">in</a>`,
      "/popup": `<style>body { background: green }</style><a id="in" target="_blank" href="${inside.origin}/popup">in</a>`,
      "/meta": `<meta http-equiv="refresh" content="0;url=${inside.origin}/by-meta">`,
    })
    host = await startTaking({ allow: [outside.host], plugins: [probe(urls, () => host.url)] })
  })
  after(async () => {
    await host?.stop()
    await outside?.close()
    await inside?.close()
    stun.close()
  })

  const untouched = () => expect([inside.connections(), inside.asked, packets]).to.deep.equal([0, [], 0])

  it("refuses private addresses at once where they can be seen", async () => {
    for (const address of ["127.0.0.1", "10.0.0.1", "169.254.169.254", "[::1]", "0x7f.1", "2130706433", "[::ffff:10.0.0.1]"]) {
      const { status, body } = await start(host, { url: `http://${address}:${inside.port}/` })
      expect([address, status, body.code, body.details.reason]).to.deep.equal([address, 400, "failed_precondition", "address_refused"])
    }
    // The service itself outside of pages.
    for (const path of ["/private-route", "/metrics", "/p/../private-route", "/p/%2e%2e/private-route", "/p/..%2fprivate-route", "/p//x"]) {
      const { status, body } = await start(host, { url: host.url + path })
      expect([path, status, body.code]).to.deep.equal([path, 400, "failed_precondition"])
    }
    untouched()
  })

  it("fails a navigation to a private address, by name, redirect, script, refresh or click", async () => {
    // The page is answered before its next request is refused, possibly by a busy machine.
    const time = { action: "wait", ms: 5_000 }
    const click = { action: "click", selector: "#in" }
    const tries: Record<string, unknown>[] = [
      { url: `http://localhost:${inside.port}/` },
      { url: `https://localhost:${inside.port}/` },
      { url: `${outside.origin}/to-inside` },
      { url: `${outside.origin}/script`, instructions: [time] },
      { url: `${outside.origin}/meta`, instructions: [time] },
      { url: `${outside.origin}/link`, instructions: [click, time] },
    ]
    const results = await Promise.all(tries.map((input) => take(host, input)))
    for (const [index, result] of results.entries()) {
      expect([index, result.status, result.signed_url, result.bucket_key]).to.deep.equal([index, "failed", "", ""])
      expect(result.error, String(index)).to.match(/^The connection to (127\.0\.0\.1|localhost):\d+ is refused.*public addresses only/)
    }
    untouched()
  })

  it("closes windows that a page opens, before they reach anything", async () => {
    const result = await take(host, { url: `${outside.origin}/popup`, instructions: [{ action: "click", selector: "#in" }] })
    expect((await pictureOf(result)).at(600, 600)).to.deep.equal(green)
    untouched()
  })

  it("lets nothing of a page through: images, frames, fetches, sockets, workers, beacons, peer connections", async () => {
    const result = await take(host, { url: `${outside.origin}/every-way`, instructions: [{ action: "wait", selector: "#over" }] })
    expect((await pictureOf(result)).at(600, 300)).to.deep.equal(green)
    expect(outside.asked).to.include("/to-inside")
    untouched()
  })

  it("pictures our own pages, though this service has a private address, and nothing else of it", async () => {
    const [direct, redirected, astray] = await Promise.all([
      take(host, { url: `${host.url}/p/probe/own/here` }),
      take(host, { url: `${outside.origin}/to-own` }),
      take(host, { url: `${outside.origin}/to-service` }),
    ])
    expect((await pictureOf(direct)).at(600, 600)).to.deep.equal(green)
    expect((await pictureOf(redirected)).at(600, 600)).to.deep.equal(green)
    expect(astray.status).to.equal("failed")
    expect(urls).to.include("GET /p/probe/own/here")
    expect(urls.filter((path) => path.includes("private"))).to.deep.equal([])
    expect(urls.filter((path) => path.startsWith("POST"))).to.deep.equal([])
  })

  it("would show it if something got through", async () => {
    const lax = await startTaking({ allow: [outside.host, inside.host] })
    try {
      const result = await take(lax, { url: `${outside.origin}/every-way`, instructions: [{ action: "wait", selector: "#over" }] })
      expect((await pictureOf(result)).at(600, 300)).to.deep.equal(red)
      for (const path of ["/img", "/css", "/frame", "/object", "/script", "/fetch", "/worker", "/beacon", "/events", "/redirected"])
        expect(inside.asked).to.include(path)
    } finally {
      await lax.stop()
    }
  })
})

/** An own page with requests to the rest of the service, and a forbidden route. */
function probe(urls: string[], url: () => string) {
  const own = defineRoute({
    name: "probe.own",
    summary: "A page of ours.",
    method: "GET",
    path: "/p/probe/own/{name}",
    handle({ request }) {
      urls.push(`GET ${request.url}`)
      const to = `${url()}/private-route`
      const body = `<body style="background:green"><img src="${to}?img"><iframe src="${to}?frame"></iframe>
        <script>
          fetch("/private-route?same-origin")
          fetch("/p/probe/own/posted", { method: "POST", body: "x" })
          new WebSocket("${to.replace("http", "ws")}?socket")
        </script>`
      return { headers: { "Content-Type": "text/html" }, body }
    },
  })
  const posted = defineRoute({
    name: "probe.posted",
    summary: "Takes what a page of ours sends.",
    method: "POST",
    path: "/p/probe/own/{name}",
    handle({ request }) {
      urls.push(`POST ${request.url}`)
      return {}
    },
  })
  const secret = defineRoute({
    name: "probe.private",
    summary: "No page.",
    method: "GET",
    path: "/private-route",
    handle({ request }) {
      urls.push(`GET ${request.url}`)
      return { body: "private" }
    },
  })
  return definePlugin({ id: "probe", config: z.strictObject({}), register: (reg) => reg.routes(own, posted, secret) })
}
