// Single faults under load, on a real process: a killed sandbox, a full disk, a stop, a flood. After each, the books must be
// right and the service must work again.
import { execFileSync } from "node:child_process"
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { connect } from "node:net"
import { join } from "node:path"
import { expect } from "chai"
import { runningMs } from "../slowness.ts"
import { expectWithin } from "../tier.ts"
import { untilProcess as until } from "../waiting.ts"
import { freshFolder } from "./service-process.ts"
import { acknowledged, childrenOf, residentMb, underLoad } from "./under-load.ts"

const onLinux = process.platform === "linux" ? it : it.skip

describe("a fault under load", () => {
  onLinux("of the sandbox's processes, killed again and again, costs no event", async () => {
    let killed = 0
    const { sender, findings } = await underLoad({
      async happens(service, load) {
        for (let round = 0; round < 3; round++) {
          for (const pid of childrenOf(service.pid)) if (kill(pid)) killed++
          await acknowledged(load, 200)
        }
      },
    })
    expect(findings.problems).to.deep.equal([])
    expect([...sender.refused.values(), sender.unanswered.size]).to.deep.equal([0])
    expect(killed).to.be.at.least(3)
  })

  const drainMs = 40_000

  it("SIGTERM loses nothing that was taken, and ends when that is done, well before its time is up", async () => {
    let code: number | string | null = null
    let milliseconds = 0
    const { sender, findings } = await underLoad({
      env: { MILLRACE_SERVER_DRAIN_MS: String(drainMs) },
      async happens(service) {
        milliseconds = await runningMs(async () => {
          service.signal("SIGTERM")
          code = await service.ended()
        })
      },
    })
    expect(findings.problems).to.deep.equal([])
    expect(code).to.equal(0)
    expect(milliseconds).to.be.lessThan(drainMs / 2)
    expectWithin(8_000, milliseconds, "the stop")
    expect([...sender.refused.values()].filter((status) => status !== 503)).to.deep.equal([])
    // An accepted but dropped event would be stored without an answer.
    expect(findings.kept).to.equal(0)
  })

  it("of a full disk is answered 503, keeps what was acknowledged, and passes when there is room again", async function () {
    const folder = freshFolder()
    const disk = join(folder.path, "disk")
    mkdirSync(disk)
    try {
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=48m", "tmpfs", disk], { stdio: "pipe" })
    } catch (error) {
      folder.remove()
      console.warn(
        `\n  SKIPPED: a full disk was not tried, because no small file system can be mounted here: ${(error as Error).message.split("\n")[1] ?? ""}`,
      )
      this.skip()
    }
    try {
      const ballast = join(disk, "ballast")
      const { sender, findings } = await underLoad({
        dataDir: disk,
        async happens(service, load) {
          const before = load.refused.size
          expect(await ready(service.url)).to.deep.equal([200, undefined])
          fill(ballast)
          await until("events are refused", () => load.refused.size >= before + 20)
          // At every request, even if a small write finds room when an event does not.
          for (let look = 0; look < 100; look++) expect(await ready(service.url)).to.deep.equal([503, "storage_full"])
          const refused = load.refused.size
          const counted = await unserved(service.url, "storage_full")
          expect(counted).to.be.at.least(refused)
          expect(service.output().match(/inbound requests are answered 503/g)?.length).to.be.within(1, 12)
          rmSync(ballast)
          await acknowledged(load, 100)
          await until("ready again", async () => (await ready(service.url))[0] === 200)
          for (let look = 0; look < 20; look++) expect(await ready(service.url)).to.deep.equal([200, undefined])
        },
      })
      expect(findings.problems).to.deep.equal([])
      expect(new Set(sender.refused.values())).to.deep.equal(new Set([503]))
    } finally {
      execFileSync("umount", ["-l", disk])
      folder.remove()
    }
  })

  onLinux("of descriptors that run out costs no event, and passes when there are some again", async () => {
    let cut = 0
    const { sender, findings } = await underLoad({
      async happens(service, load, endpoint) {
        await acknowledged(load, 100)
        const most = readdirSync(`/proc/${service.pid}/fd`).length + 10
        execFileSync("prlimit", ["--pid", String(service.pid), `--nofile=${most}:${most}`])
        const { hostname, port } = new URL(endpoint)
        const idle = Array.from({ length: 100 }, () => connect(Number(port), hostname))
        for (const socket of idle) socket.on("error", () => undefined).on("close", () => cut++)
        await until("connections beyond the limit are cut", () => cut >= 50)
        // Existing connections continue.
        await acknowledged(load, 300)
        for (const socket of idle) socket.destroy()
        await until("a new connection is served", async () => {
          const answer = await fetch(endpoint, { method: "POST", headers: { connection: "close" }, body: "{}" }).catch(() => undefined)
          return answer?.status === 401
        })
        await acknowledged(load, 100)
      },
    })
    expect(findings.problems).to.deep.equal([])
    expect([...sender.refused.values(), sender.unanswered.size]).to.deep.equal([0])
  })

  onLinux("ten times what it takes is shed with 429 and Retry-After, in bounded memory, and it recovers at once", async () => {
    let grown = 0
    let recovered = 0
    let retryAfter: string | null = null
    const { sender, findings } = await underLoad({
      connections: 320,
      env: { MILLRACE_INBOUND_MAX_IN_FLIGHT: "32" },
      async happens(service, load, endpoint) {
        const before = residentMb(service.pid)
        await until("2,000 events refused", () => load.refused.size >= 2_000)
        while (retryAfter === null) {
          const shed = await fetch(endpoint, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" })
          if (shed.status === 429) retryAfter = shed.headers.get("retry-after")
          await shed.arrayBuffer()
        }
        grown = residentMb(service.pid) - before
        await load.stop()
        recovered = await runningMs(async () => {
          const { status } = await fetch(endpoint, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" })
          expect(status).to.equal(401)
        })
      },
    })
    expect(findings.entries).to.equal(sender.acknowledged.size)
    expect(new Set(sender.refused.values())).to.deep.equal(new Set([429]))
    expect(Number(retryAfter)).to.be.greaterThan(0)
    expectWithin(10_000, sender.slowestMs, "the slowest event that was taken")
    expect(grown).to.be.lessThan(250)
    expectWithin(1_000, recovered, "an answer after the flood")
  })
})

/** Answer for a load balancer. */
async function ready(url: string): Promise<[status: number, reason: string | undefined]> {
  const answer = await fetch(`${url}/readyz`)
  const { details } = (await answer.json()) as { details?: { reason: string } }
  return [answer.status, details?.reason]
}

async function unserved(url: string, reason: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return Number(new RegExp(`^millrace_inbound_errors_total\\{reason="${reason}"\\} (\\d+)`, "m").exec(text)?.[1] ?? 0)
}

/** Returns false if the process has ended by itself. */
function kill(pid: number): boolean {
  try {
    return process.kill(pid, "SIGKILL")
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false
    throw error
  }
}

/** Writes until the disk is full. */
function fill(file: string): void {
  for (let bytes = 1 << 20; bytes >= 1_024; bytes >>= 1) {
    try {
      for (;;) writeFileSync(file, Buffer.alloc(bytes), { flag: "a" })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error
    }
  }
}
