// Memory of an idle service, without the memory of its start.
import { readFileSync } from "node:fs"
import { expect } from "chai"
import { freshFolder, type ServiceProcess, startService } from "../crash/service-process.ts"
import { untilProcess as until } from "../waiting.ts"

const maxMegabytes = 260

describe("a service at rest", () => {
  const folder = freshFolder()
  let service: ServiceProcess
  before(async function () {
    // Only Linux reports shared memory of a process.
    if (process.platform !== "linux") this.skip()
    service = await startService({ dataDir: folder.path })
  })
  after(async () => {
    await service?.kill()
    folder.remove()
  })

  it(`holds less than ${maxMegabytes} MB, with its sandbox`, async () => {
    const memoryBytes = await until("memory being given back", () => {
      const processes = familyOf(service.pid)
      const megabytes = processes.reduce((sum, pid) => sum + (proportionalMegabytes(pid) ?? Number.POSITIVE_INFINITY), 0)
      return processes.length > 1 && megabytes < maxMegabytes ? megabytes : undefined
    })
    expect(memoryBytes).to.be.greaterThan(0)
    expect((await fetch(`${service.url}/healthz`)).status).to.equal(200)
  })
})

function familyOf(pid: number): number[] {
  const children = readIfPresent(`/proc/${pid}/task/${pid}/children`)?.split(" ").filter(Boolean).map(Number) ?? []
  return [pid, ...children.flatMap(familyOf)]
}

/** Memory shared by several processes counts proportionally. */
function proportionalMegabytes(pid: number): number | undefined {
  const [, kilobytes] = /^Pss: +(\d+) kB$/m.exec(readIfPresent(`/proc/${pid}/smaps_rollup`) ?? "") ?? []
  return kilobytes === undefined ? undefined : Number(kilobytes) / 1_024
}

/** Returns undefined if the process has ended. */
function readIfPresent(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8")
  } catch (error) {
    if (["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined
    throw error
  }
}
