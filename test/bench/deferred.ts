// Deferred work: each event's pipeline calls another system after the reply, one durable job each. Measures from the first event
// to the last call, with the receiver and the load generator on the same cores.
import { setTimeout as pause } from "node:timers/promises"
import { makePipeline, saveStep, signedRequest } from "./inbound/pipelines.ts"
import { Load } from "./load/load.ts"
import { type BenchOptions, BenchProblem, isSelected } from "./options.ts"
import { http, startPeer } from "./peers/peers.ts"
import { type Service, startService } from "./service/service.ts"
import { median, type Row, rowOf } from "./table.ts"

const name = "deferred/call/c64"
const connections = 64
/** Jobs per second. */
const goal = 1_000

export async function* deferredRows(options: BenchOptions): AsyncGenerator<Row> {
  if (!isSelected(options, name)) return
  const { note, seconds, runs = 5 } = options
  const receiver = await startPeer(http)
  const service = await startService({ env: { MILLRACE_OUTGOING_ALLOW_HOSTS: new URL(receiver.url).host } })
  const load = new Load()
  try {
    const call = { id: "call", type: "http.request", url: receiver.url, body: { email: "{{ event.customer }}" } }
    const request = signedRequest(await makePipeline(service, { name: "Bench call", steps: [saveStep, call] }))
    const once = async (prefix: string, perSecond: number | undefined) => {
      await load.prepare({ ...request, prefix }, (perSecond ?? 8_000) * (seconds + 1))
      const before = await doneBy(service)
      const cpu = service.tree.cpuUs()
      const began = performance.now()
      const { ok } = await load.run({
        url: request.url,
        connections,
        seconds,
        repeat: false,
        ...(perSecond === undefined ? {} : { perSecond }),
      })
      await until(service, before + ok)
      const elapsed = (performance.now() - began) / 1_000
      return { perSecond: ok / elapsed, cpuUs: (service.tree.cpuUs() - cpu) / ok, late: elapsed - seconds }
    }
    note(`${name}: warming up, then ${runs} runs of ${seconds} s each`)
    await once("warm", undefined)
    const measured = []
    for (let run = 0; run < runs; run++) measured.push(await once(`run-${run}`, undefined))
    const cpu = Math.round(median(measured.map(({ cpuUs }) => cpuUs)))
    const late = median(measured.map((sample) => sample.late)).toFixed(1)
    const detail = `${cpu} µs CPU an execution, its event with it; the last call ${late} s after the last event`
    yield rowOf(
      name,
      "jobs/s",
      measured.map(({ perSecond }) => perSecond),
      "goal",
      [goal],
      detail,
    )
  } finally {
    load.stop()
    receiver.stop()
    await service.stop()
  }
}

/** Returns the number of jobs done since the service's start. */
async function doneBy(service: Service): Promise<number> {
  const text = await service.metrics()
  const [, count] = /^millrace_job_seconds_count\{[^}]*type="pipeline\.deferred"[^}]*outcome="done"[^}]*\} (\d+)/m.exec(text) ?? []
  const [, other] = /^millrace_job_seconds_count\{[^}]*outcome="done"[^}]*type="pipeline\.deferred"[^}]*\} (\d+)/m.exec(text) ?? []
  return Number(count ?? other ?? 0)
}

async function until(service: Service, target: number): Promise<void> {
  let count = 0
  let since = performance.now()
  for (let completed = await doneBy(service); completed < target; completed = await doneBy(service)) {
    if (completed > count) since = performance.now()
    count = completed
    if (performance.now() - since > 60_000) throw new BenchProblem(`${target - completed} jobs were not done, and none for a minute.`)
    await pause(500)
  }
}
