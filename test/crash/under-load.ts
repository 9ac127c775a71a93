// Runs an action against a service under load and checks the books at the end. Shared by tests of single faults.
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { checkBooks, type Findings, jobsSettled } from "./books.ts"
import { startPeer } from "./peer.ts"
import { makePipeline, shelves } from "./rounds.ts"
import { Sender } from "./sender.ts"
import { apiOf, freshFolder, type ServiceProcess, startService } from "./service-process.ts"

export interface UnderLoad {
  readonly sender: Sender
  readonly findings: Findings
}

export interface UnderLoadArgs {
  readonly connections?: number
  readonly env?: Readonly<Record<string, string>>
  /** Folder to use instead of a folder on the project's disk. */
  readonly dataDir?: string
  readonly faults?: readonly string[]
  readonly supervised?: boolean
  /** Continues sending when connections break. */
  readonly keepsOn?: boolean
  readonly restMs?: number
  /**
   * Runs while events are being sent; the load ends with it. A service ended by it is started again for the books, unless it
   * already started again.
   */
  readonly happens: (
    service: ServiceProcess,
    sender: Sender,
    endpoint: string,
    again: (env?: Readonly<Record<string, string>>) => Promise<ServiceProcess>,
  ) => Promise<void>
}

export async function underLoad(args: UnderLoadArgs): Promise<UnderLoad> {
  const { connections = 32, env = {}, dataDir, keepsOn = false, restMs = 0, faults = [], supervised = false, happens } = args
  const folder = dataDir === undefined ? freshFolder() : { path: dataDir, remove() {} }
  const peer = await startPeer()
  const options = { dataDir: folder.path, faults, supervised, env: { MILLRACE_OUTGOING_ALLOW_HOSTS: peer.host, ...env } }
  const started: ServiceProcess[] = []
  let over = false
  const start = async (more: Readonly<Record<string, string>> = {}) => {
    over = false
    const service = await startService({ ...options, env: { ...options.env, ...more } })
    started.push(service)
    void service.ended().then(() => {
      over = started.at(-1) === service
    })
    return service
  }
  try {
    const service = await start()
    const { endpoint_id, secret } = await makePipeline(apiOf(service, folder.path), peer.url)
    const endpoint = `${service.url}/v1/inbound/${endpoint_id}`
    const sender = new Sender({ url: endpoint, secret, connections, from: 1, keepsOn, restMs })
    sender.start()
    await acknowledged(sender, 100)
    await happens(service, sender, endpoint, start)
    await sender.stop()
    if (over) await start()
    const api = apiOf(started.at(-1) ?? service, folder.path)
    const troubles = await jobsSettled(api)
    const checked = await checkBooks(api, shelves, sender, peer)
    return { sender, findings: { ...checked, problems: [...troubles, ...checked.problems] } }
  } finally {
    for (const service of started) await service.kill()
    await peer.stop()
    folder.remove()
  }
}

/** Resolves after this many more events with a 2xx answer. Throws after `patienceMs` without a further 2xx answer. */
export async function acknowledged(sender: Sender, more: number, patienceMs = 300_000): Promise<void> {
  const expected = sender.acknowledged.size + more
  let count = sender.acknowledged.size
  let since = performance.now()
  while (sender.acknowledged.size < expected) {
    if (sender.acknowledged.size > count) {
      count = sender.acknowledged.size
      since = performance.now()
    }
    if (performance.now() - since > patienceMs)
      throw new Error(`No event was acknowledged for ${patienceMs / 1_000} s; ${count} were before.`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** Returns the children of a process (Linux) in order of their start. `ps` exits with 1 if there are no children. */
export function childrenOf(pid: number): number[] {
  const { stdout } = spawnSync("ps", ["-o", "pid=", "--ppid", String(pid), "--sort", "start_time"], { encoding: "utf8" })
  return stdout.split(/\s+/).filter(Boolean).map(Number)
}

/** Returns the resident memory in MB (Linux). */
export function residentMb(pid: number): number {
  const [, kilobytes] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? []
  return Math.round(Number(kilobytes) / 1_024)
}
