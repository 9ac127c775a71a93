// Two workers and their primary on MongoDB, as real processes under load: each is killed, and all are stopped.
import { expect } from "chai"
import { socketFolderOf } from "../cluster/worker-sockets.ts"
import { freePort } from "../free-port.ts"
import { lendDatabaseToFile, mongoAvailable } from "../mongodb-server.ts"
import { runningMs } from "../slowness.ts"
import { expectWithin, isSoak } from "../tier.ts"
import { untilProcess as until } from "../waiting.ts"
import type { Sender } from "./sender.ts"
import type { ServiceProcess } from "./service-process.ts"
import { acknowledged, childrenOf, underLoad } from "./under-load.ts"

const onMongo = mongoAvailable && process.platform === "linux" ? describe : describe.skip

onMongo("two workers under load (mongodb)", function () {
  this.timeout(900_000)
  /** Reduced load while six processes start. */
  const restMs = isSoak ? 0 : 100
  const env = async () => ({ MILLRACE_WORKERS: "2", MILLRACE_STORAGE_URL: await lendDatabaseToFile() })

  it("a killed worker is replaced, the other goes on meanwhile, and nothing acknowledged is lost", async () => {
    let answeredMeanwhile = 0
    const { sender, findings } = await underLoad({
      env: await env(),
      keepsOn: true,
      restMs,
      async happens(service, load) {
        const before = await bothOf(service)
        const [victim] = before
        await hurry(load)
        process.kill(victim ?? 0, "SIGKILL")
        load.restMs = restMs
        const acknowledgedThen = load.acknowledged.size
        await until(() => !childrenOf(service.pid).includes(victim ?? 0))
        await acknowledged(load, 200)
        answeredMeanwhile = load.acknowledged.size - acknowledgedThen
        expect(await bothOf(service))
          .to.have.length(2)
          .and.not.include(victim)
        expect(await until("a scrape", () => metric(service.url, "millrace_worker_restarts_total"))).to.equal(1)
        await acknowledged(load, 200)
      },
    })
    expect(findings.problems).to.deep.equal([])
    expect(answeredMeanwhile).to.be.at.least(200)
    expect([...sender.refused.values()].filter((status) => status !== 503)).to.deep.equal([])
    expect(sender.unanswered.size).to.be.at.most(32)
  })

  const drainMs = 40_000

  it("SIGTERM stops all of them when what was taken is done, well before their time is up, and loses none of it", async () => {
    let code: number | string | null = null
    let milliseconds = 0
    let remaining: number[] = []
    let clients: string | undefined
    const { sender, findings } = await underLoad({
      env: { ...(await env()), MILLRACE_SERVER_DRAIN_MS: String(drainMs) },
      restMs,
      async happens(service, load) {
        const workers = await bothOf(service)
        await hurry(load)
        milliseconds = await runningMs(async () => {
          service.signal("SIGTERM")
          code = await service.ended()
        })
        remaining = workers.filter(isAlive)
        clients = socketFolderOf(service.pid)
      },
    })
    expect(findings.problems).to.deep.equal([])
    expect(code).to.equal(0)
    expect(remaining).to.deep.equal([])
    expect(clients).to.equal(undefined)
    expect(milliseconds).to.be.lessThan(drainMs / 2)
    expectWithin(15_000, milliseconds, "the stop")
    expect([...sender.refused.values()].filter((status) => status !== 503)).to.deep.equal([])
    expect(findings.kept).to.equal(0)
  })

  it("with the primary killed its workers end, and no start finds the port taken, not even after one that was broken off", async () => {
    const port = String(await freePort())
    const { sender, findings } = await underLoad({
      env: { ...(await env()), PORT: port },
      keepsOn: true,
      restMs,
      async happens(service, load, _endpoint, again) {
        const orphans = await bothOf(service)
        await hurry(load)
        service.signal("SIGKILL")
        load.restMs = restMs
        await service.ended()
        await until(() => orphans.every((pid) => !isAlive(pid)))
        // A failed start also leaves no processes behind.
        const second = await again()
        const more = childrenOf(second.pid)
        second.signal("SIGKILL")
        await second.ended()
        const broken = await again()
        broken.signal("SIGTERM")
        expect(await broken.ended()).to.equal(0)
        await again({ MILLRACE_WORKERS: "1" })
        await acknowledged(load, 300)
        expect(more.filter(isAlive)).to.deep.equal([])
      },
    })
    expect(findings.problems).to.deep.equal([])
    expect([...sender.refused.values()].filter((status) => status !== 503)).to.deep.equal([])
  })
})

/** Resolves under full load. */
function hurry(load: Sender): Promise<void> {
  load.restMs = 0
  return acknowledged(load, 100)
}

/** Returns both workers once they listen. */
async function bothOf({ pid, url }: ServiceProcess): Promise<number[]> {
  await until(async () => (await metric(url, "millrace_workers")) === 2)
  return childrenOf(pid)
}

/** A scrape fails if it reaches a stopping worker; the next one succeeds. */
async function metric(url: string, name: string): Promise<number | undefined> {
  const text = await fetch(`${url}/metrics`).then(
    (answer) => answer.text(),
    () => "",
  )
  const match = new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1]
  return match === undefined ? undefined : Number(match)
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
