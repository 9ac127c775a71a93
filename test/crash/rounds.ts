// Runs rounds of kills. Each round uses a fresh folder. A kill ends the whole process group at a random instant under load, with
// unanswered events. Then the service starts on the same folder, and the books are checked.
import { randomFrom } from "../random.ts"
import { seed as fixedSeed } from "../tier.ts"
import { untilProcess as until } from "../waiting.ts"
import { checkBooks, type Findings, jobsSettled, type Shelves } from "./books.ts"
import { startPeer } from "./peer.ts"
import { Sender } from "./sender.ts"
import { type Api, apiOf, freshFolder, killGroup, launch, type ServiceProcess, startService } from "./service-process.ts"

export interface RoundOptions {
  readonly kills: number
  readonly faults?: readonly string[]
  /** Seed of the instants of the kills. */
  readonly seed?: number
  readonly connections?: number
  /** Stops after the first problem. */
  readonly untilProblem?: boolean
  /** Called after each kill. */
  readonly observe?: (kill: KillReport) => void
}

export interface KillReport {
  readonly kill: number
  readonly unanswered: number
  readonly acknowledged: number
  readonly restart_ms: number
  readonly findings: Findings
}

export interface RoundReport {
  readonly kills: readonly KillReport[]
  /** Problems of all kills; empty if the books are right. */
  readonly problems: readonly string[]
}

/** Minimum number of unanswered events at each kill. */
export const minUnanswered = 32

const document = (peerUrl: string) => ({
  name: "Kept",
  state: "active",
  auth_mode: "hmac_sha256",
  request_schema: {
    type: "object",
    required: ["n", "email"],
    properties: { n: { type: "integer" }, email: { type: "string", format: "email" } },
  },
  transform_js: "function transform(event) { return { n: event.n, email: event.email.trim().toLowerCase(), notify: event.notify } }",
  pipeline: [
    { id: "line", type: "dataset.write", dataset_slug: "lines", row: { n: "{{ event.n }}" } },
    { id: "lead", type: "dataset.write", dataset_slug: "leads", key: "email", row: { n: "{{ event.n }}", email: "{{ event.email }}" } },
    {
      id: "tell",
      type: "http.request",
      when: "event.notify",
      url: peerUrl,
      body: { n: "{{ event.n }}" },
      retry: { max_attempts: 20, initial_delay_ms: 50 },
    },
  ],
})

export const shelves: Shelves = { pipeline: "kept", unkeyed: "lines", keyed: "leads" }

export interface MadePipeline {
  readonly endpoint_id: string
  readonly secret: string
}

export function makePipeline(api: Api, peerUrl: string): Promise<MadePipeline> {
  return api<{ endpoint_id: string; secret: string }>("POST", "/v1/event-pipelines", document(peerUrl))
}

export async function killRound(round: RoundOptions): Promise<RoundReport> {
  const { kills, faults = [], seed = fixedSeed, connections = 64, untilProblem = false, observe } = round
  const random = randomFrom(seed)
  const folder = freshFolder()
  const peer = await startPeer()
  const env: Record<string, string> = { MILLRACE_OUTGOING_ALLOW_HOSTS: peer.host }
  const options = { dataDir: folder.path, faults, env }
  const started: ServiceProcess[] = []
  const start = async () => {
    const service = await startService(options)
    started.push(service)
    return service
  }
  const reports: KillReport[] = []
  const message = { acknowledged: new Map<number, string>(), unanswered: new Set<number>(), refused: new Map<number, number>() }
  try {
    let service = await start()
    const pipeline = await makePipeline(apiOf(service, folder.path), peer.url)
    for (let kill = 1, from = 1; kill <= kills; kill++) {
      const sender = new Sender({ url: `${service.url}/v1/inbound/${pipeline.endpoint_id}`, secret: pipeline.secret, connections, from })
      const unanswered = await killUnderLoad(service, sender, random)
      from = sender.next
      for (const [n, id] of sender.acknowledged) message.acknowledged.set(n, id)
      for (const [n, status] of sender.refused) message.refused.set(n, status)
      for (const n of sender.unanswered) message.unanswered.add(n)
      // Sometimes kills the service again during its start, before its first answer.
      if (random() < 0.2) await killWhileStarting(options, random)
      const began = performance.now()
      service = await start()
      const restart_ms = Math.round(performance.now() - began)
      const api = apiOf(service, folder.path)
      const troubles = await jobsSettled(api)
      const checked = await checkBooks(api, shelves, message, peer)
      const findings = { ...checked, problems: [...troubles, ...checked.problems] }
      const report = { kill, unanswered, acknowledged: sender.acknowledged.size, restart_ms, findings }
      reports.push(report)
      observe?.(report)
      if (untilProblem && findings.problems.length > 0) break
    }
  } finally {
    for (const service of started) await service.kill()
    await peer.stop()
    folder.remove()
  }
  const problems = reports.flatMap(({ kill, findings }) => findings.problems.map((problem) => `kill ${kill}: ${problem}`))
  return { kills: reports, problems }
}

/** Resolves with the number of unanswered events at the instant of the kill. */
async function killUnderLoad(service: ServiceProcess, sender: Sender, random: () => number): Promise<number> {
  sender.start()
  await new Promise((resolve) => setTimeout(resolve, 150 + random() * 600))
  const loaded = () => sender.inFlight >= minUnanswered && sender.acknowledged.size > 0
  await until(`${minUnanswered} events being unanswered, and one acknowledged`, loaded, { everyMs: 1 })
  const unanswered = sender.inFlight
  await Promise.all([service.kill(), sender.stop()])
  return unanswered
}

async function killWhileStarting(options: Parameters<typeof launch>[0], random: () => number): Promise<void> {
  const child = launch(options)
  const exited = new Promise((resolve) => child.once("exit", resolve))
  await new Promise((resolve) => setTimeout(resolve, random() * 1_500))
  killGroup(child)
  await exited
}
