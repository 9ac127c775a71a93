// Two workers and their parent, as real processes under load: each of them killed, and all of them stopped.
import { createHmac } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect } from "chai"
import { doorOf, patient } from "../cluster/doors.ts"
import { mongoAvailable, sharedMongo } from "../mongodb-server.ts"
import { runningMs } from "../slowness.ts"
import { apiOf, freshFolder, startService } from "./service-process.ts"
import { acknowledged, childrenOf, underLoad } from "./under-load.ts"

const onLinux = process.platform === "linux" ? describe : describe.skip

function suite(storage: () => Promise<Record<string, string>>, embedded: boolean): void {
  const env = async () => ({ MILLRACE_WORKERS: "2", ...(await storage()) })

  it("a killed worker is replaced, the other goes on meanwhile, and nothing acknowledged is lost", async () => {
    let answeredMeanwhile = 0
    const { sender, findings } = await underLoad({
      env: await env(),
      keepsOn: true,
      async happens(service, load) {
        const before = childrenOf(service.pid)
        const [victim] = before
        process.kill(victim ?? 0, "SIGKILL")
        const acknowledgedThen = load.acknowledged.size
        await until(() => !childrenOf(service.pid).includes(victim ?? 0))
        await acknowledged(load, 200)
        answeredMeanwhile = load.acknowledged.size - acknowledgedThen
        await until(async () => (await metric(service.url, "millrace_workers")) === 2)
        expect(childrenOf(service.pid)).to.have.length(2).and.not.include(victim)
        expect(await metric(service.url, "millrace_worker_restarts_total")).to.equal(1)
        await acknowledged(load, 200)
      },
    })
    expect(findings.problems).to.deep.equal([])
    expect(answeredMeanwhile).to.be.at.least(200)
    expect([...sender.refused.values()].filter((status) => status !== 503)).to.deep.equal([])
    expect(sender.unanswered.size).to.be.at.most(32)
  })

  it("SIGTERM stops parent and workers when what was taken is done, well before their time is up, and loses none of it", async () => {
    let code: number | string | null = null
    let milliseconds = 0
    let left: number[] = []
    const { sender, findings } = await underLoad({
      env: { ...(await env()), MILLRACE_SERVER_DRAIN_MS: "40000" },
      async happens(service) {
        const workers = childrenOf(service.pid)
        milliseconds = await runningMs(async () => {
          service.signal("SIGTERM")
          code = await service.ended()
        })
        left = workers.filter(isAlive)
      },
    })
    expect(findings.problems).to.deep.equal([])
    expect(code).to.equal(0)
    expect(left).to.deep.equal([])
    expect(milliseconds).to.be.lessThan(15_000)
    expect([...sender.refused.values()].filter((status) => status !== 503)).to.deep.equal([])
    expect(findings.kept).to.equal(0)
  })

  it(`with the parent killed, workers ${embedded ? "answer 503" : "go on"} until the next start takes their place`, async () => {
    let orphans: number[] = []
    let meanwhile: [status: number, retryAfter: string | null, named: boolean][] = []
    const { sender, findings } = await underLoad({
      env: await env(),
      keepsOn: true,
      async happens(service, load, endpoint, again) {
        orphans = childrenOf(service.pid)
        const before = load.acknowledged.size
        service.signal("SIGKILL")
        await service.ended()
        if (embedded) await until(() => load.refused.size >= 20)
        else await until(() => load.acknowledged.size > before + 100)
        // On MongoDB a read may time out on a busy machine, and is asked for again.
        await until(async () => {
          const asked = ["/v1/datasets", "/openapi.json", new URL(endpoint).pathname].map((path) => fetch(service.url + path))
          meanwhile = (await Promise.all(asked)).map(({ status, headers }) => [
            status,
            headers.get("retry-after"),
            headers.has("x-request-id"),
          ])
          return embedded || meanwhile.every(([status]) => status !== 503)
        })
        expect(orphans.filter(isAlive)).to.deep.equal(orphans)
        // Where the orphans still listen.
        const { port } = new URL(service.url)
        const second = await again({ PORT: port })
        await acknowledged(load, 300)
        await until(() => orphans.every((pid) => !isAlive(pid)))
        // Nor do they stand in the way of a start without workers.
        orphans = childrenOf(second.pid)
        second.signal("SIGKILL")
        await second.ended()
        // One of them calls late.
        const [late = 0] = orphans
        process.kill(late, "SIGSTOP")
        setTimeout(() => isAlive(late) && process.kill(late, "SIGCONT"), 3_000)
        await again({ PORT: port, MILLRACE_WORKERS: "1" })
        await acknowledged(load, 300)
        await until(() => orphans.every((pid) => !isAlive(pid)))
      },
    })
    expect(findings.problems).to.deep.equal([])
    if (embedded)
      expect(meanwhile).to.deep.equal([
        [503, "2", true],
        [503, "2", true],
        [503, "2", true],
      ])
    else expect(meanwhile.map(([status]) => status)).to.deep.equal([401, 200, 405])
    expect([...sender.refused.values()].filter((status) => status !== 503)).to.deep.equal([])
  })
}

describe("a worker that is paused", function () {
  this.timeout(300_000)

  it("holds up a change for its lease at most, and takes nothing afterwards under what was ended meanwhile", async function () {
    if (process.platform !== "linux") this.skip()
    const folder = freshFolder()
    const service = await startService({ dataDir: folder.path, env: { MILLRACE_WORKERS: "2" } })
    try {
      const api = apiOf(service, folder.path)
      const made = await api<{ endpoint_id: string; secret: string }>("POST", "/v1/event-pipelines", {
        name: "Paused",
        state: "active",
        auth_mode: "hmac_sha256",
        pipeline: [],
      })
      const [zero, one] = [doorOf(folder.path, 0), doorOf(folder.path, 1)]
      const send = async (secret: string, door = one) => {
        const signature = `sha256=${createHmac("sha256", secret).update("{}").digest("hex")}`
        return (await door("POST", `/v1/inbound/${made.endpoint_id}`, "{}", { "x-signature-256": signature })).status
      }
      expect(await send(made.secret, patient(one))).to.equal(200)
      const { admin_key } = JSON.parse(readFileSync(join(folder.path, "bootstrap.json"), "utf8")) as { admin_key: string }
      // The first worker is started alone, and its process may well have the higher number.
      const [, paused = 0] = childrenOf(service.pid)
      process.kill(paused, "SIGSTOP")
      const rotated = await patient(zero)("POST", "/v1/event-pipelines/paused/rotate-secret", {}, { authorization: `Bearer ${admin_key}` })
      expect(rotated.status).to.equal(200)
      process.kill(paused, "SIGCONT")
      const fresh = (JSON.parse(rotated.text) as { secret: string }).secret
      const seen = new Set<number>()
      await until(async () => {
        seen.add(await send(made.secret))
        return (await send(fresh)) === 200
      })
      seen.add(await send(made.secret))
      expect([...seen].filter((status) => status !== 401 && status !== 503)).to.deep.equal([])
    } finally {
      await service.kill()
      folder.remove()
    }
  })
})

async function until(holds: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 20))
}

/** A scrape that hits a worker on its way out fails; the next one tells. */
async function metric(url: string, name: string): Promise<number> {
  const text = await fetch(`${url}/metrics`).then(
    (answer) => answer.text(),
    () => "",
  )
  return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1])
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

onLinux("two workers under load", function () {
  this.timeout(300_000)
  describe("on the embedded file", () => suite(async () => ({}), true))
  const onMongo = mongoAvailable ? describe : describe.skip
  onMongo("on MongoDB", () => suite(async () => ({ MILLRACE_STORAGE_URL: (await sharedMongo()).freshUrl() }), false))
})
