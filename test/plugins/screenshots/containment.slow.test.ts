// A page can affect only its own render. Deadline, memory, crashes, traffic and concurrency are bounded, and all processes end
// afterwards.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import type { TestHost } from "#core/testing"
import { allGone, renderers } from "./renderers.ts"
import { type Site, startSite } from "./site.ts"
import { finished, keyElsewhere, pictureOf, resultOf, start, startTaking, take } from "./taking.ts"

const green = [0, 128, 0]

describe("screenshots: what a page can cost", () => {
  let site: Site
  let open = 0
  let most = 0
  let letGo = () => {}
  const gate = new Promise<void>((resolve) => {
    letGo = resolve
  })
  let end = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const hosts: TestHost[] = []
  let folder: string
  const { TMPDIR } = process.env
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "millrace-containment-"))
    process.env["TMPDIR"] = folder
    site = await startSite({
      "/green": "<style>body { background: green }</style>",
      "/hangs": () => undefined,
      "/hangs-too": () => undefined,
      "/waits": (_request, response) => void ended.then(() => response.end("<!doctype html>")),
      "/loops": '<script src="/looping"></script><script>for (;;);</script>',
      "/eats": "<script>const kept = []; setInterval(() => kept.push(new Uint8Array(32 << 20).fill(1)), 10)</script>",
      "/pours": (_request, response) => {
        response.writeHead(200, { "content-type": "text/html" })
        const pour = () => {
          while (response.write("x".repeat(65_536)));
        }
        response.on("drain", pour)
        pour()
      },
      "/slow": (_request, response) => {
        open++
        most = Math.max(most, open)
        void gate.then(() =>
          setTimeout(() => {
            open--
            response.end("<!doctype html>")
          }, 300),
        )
      },
    })
  })
  after(async () => {
    for (const host of hosts) await host.stop()
    await site.close()
    if (TMPDIR === undefined) delete process.env["TMPDIR"]
    else process.env["TMPDIR"] = TMPDIR
    expect(readdirSync(folder)).to.deep.equal([])
    rmSync(folder, { recursive: true })
  })

  const startHost = async (settings: Record<string, unknown>) => {
    const host = await startTaking({ allow: [site.host], settings })
    hosts.push(host)
    return host
  }
  const failure = async (host: TestHost, path: string) => {
    const result = await take(host, { url: site.origin + path })
    expect([result.status, result.signed_url]).to.deep.equal(["failed", ""])
    return result.error
  }

  it("ends a render at its deadline, regardless of what the page does, and leaves no process", async () => {
    const host = await startHost({ deadline_ms: 200_000 })
    const errors = Promise.all([failure(host, "/hangs"), failure(host, "/loops")])
    await Promise.all([site.wasAsked("/hangs"), site.wasAsked("/looping")])
    host.clock.move(200_000)
    expect(await errors).to.deep.equal(["The render timed out after 200000 ms.", "The render timed out after 200000 ms."])
    await allGone(folder)
    expect((await pictureOf(await take(host, { url: `${site.origin}/green` }))).at(600, 600)).to.deep.equal(green)
  })

  it("ends a render that takes too much memory, or loads too much", async () => {
    const host = await startHost({ memory_mb: 700, max_traffic_bytes: 3_000_000 })
    const [memory, traffic] = await Promise.all([
      take(host, { url: `${site.origin}/eats`, instructions: Array(9).fill({ action: "wait", ms: 10_000 }) }),
      take(host, { url: `${site.origin}/pours` }),
    ])
    expect([memory.status, memory.error]).to.deep.equal(["failed", "The render exceeded 700 MB of memory."])
    expect([traffic.status, traffic.error]).to.deep.equal(["failed", "The page loads more than 3000000 bytes."])
    await allGone(folder)
  })

  it("fails the job whose browser crashes, and no other", async () => {
    const host = await startHost({ concurrency: 3 })
    const crashing = await start(host, { url: `${site.origin}/hangs-too` })
    await site.wasAsked("/hangs-too")
    const [browser] = renderers(folder).filter(({ command }) => command.includes("--remote-debugging-port") && !command.includes("--type="))
    // The browser's environment has no variable of the service's.
    const environment = readFileSync(`/proc/${browser?.pid}/environ`, "utf8")
      .split("\0")
      .filter(Boolean)
      .map((entry) => entry.split("=")[0])
    const expected = [
      "FONTCONFIG_FILE",
      "HOME",
      "LANG",
      "NODE_CHANNEL_FD",
      "NODE_CHANNEL_SERIALIZATION_MODE",
      "PATH",
      "PWD",
      "TMPDIR",
      "TZ",
    ]
    expect(environment.filter((name) => name === undefined || !expected.includes(name))).to.deep.equal([])
    const bystander = take(host, { url: `${site.origin}/green` })
    process.kill(browser?.pid ?? Number.NaN, "SIGKILL")
    const crashed = await finished(host, crashing.body.job_id)
    expect([crashed.status, crashed.error]).to.deep.equal(["failed", "The browser crashed."])
    expect((await pictureOf(await bystander)).at(600, 600)).to.deep.equal(green)
    expect((await pictureOf(await take(host, { url: `${site.origin}/green` }))).at(600, 600)).to.deep.equal(green)
  })

  it("renders only so many at once, and refuses what the line has no room for", async () => {
    const host = await startHost({ concurrency: 1, max_waiting: 3 })
    const answers = await Promise.all(Array.from({ length: 6 }, () => start(host, { url: `${site.origin}/slow` })))
    letGo()
    const accepted = answers.filter(({ status }) => status === 200)
    const refused = answers.filter(({ status }) => status !== 200)
    expect([accepted.length, refused.length]).to.deep.equal([3, 3])
    for (const { status, body, headers } of refused) {
      expect([status, body.code, body.details.reason]).to.deep.equal([429, "resource_exhausted", "queue_full"])
      expect(Number(headers.get("retry-after"))).to.be.greaterThan(0)
    }
    const results = await Promise.all(accepted.map(({ body }) => finished(host, body.job_id)))
    expect(results.map(({ status, error }) => [status, error])).to.deep.equal(Array(3).fill(["done", ""]))
    expect(most).to.equal(1)
    expect(site.asked.filter((path) => path === "/slow")).to.have.length(3)
    expect((await start(host, { url: `${site.origin}/green` })).status).to.equal(200)
  })

  it("keeps a browser for an organization that has none at work, however slow the pages of another are", async () => {
    const host = await startHost({ concurrency: 2 })
    const key = await keyElsewhere(host)
    const slow = await Promise.all([1, 2, 3].map(() => start(host, { url: `${site.origin}/waits` })))
    await site.wasAsked("/waits")
    const response = await start(host, { url: `${site.origin}/green` }, key)
    expect((await pictureOf(await finished(host, response.body.job_id, key))).at(600, 600)).to.deep.equal(green)
    const states = await Promise.all(slow.map(({ body }) => resultOf(host, body.job_id)))
    expect(states.map(({ status }) => status)).to.deep.equal(["processing", "processing", "processing"])
    end()
    const results = await Promise.all(slow.map(({ body }) => finished(host, body.job_id)))
    expect(results.map(({ status }) => status)).to.deep.equal(["done", "done", "done"])
  })

  it("tries again where the fault is ours, and then says so without telling more", async () => {
    const host = await startHost({ executable: "/nowhere/chromium-of-ours" })
    const result = await take(host, { url: `${site.origin}/green` })
    expect([result.status, result.error]).to.deep.equal(["failed", "The screenshot failed because of an internal error."])
    const lines = host.logged.filter((line) => line.includes("/nowhere/chromium-of-ours"))
    expect(lines).to.have.length(3)
  })
})
