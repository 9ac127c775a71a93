// What several processes give on one machine: the full path with MILLRACE_WORKERS=1 and 2 over one embedded store each,
// taking turns with the express echo.
import { Contest, type Contestant } from "./contest.ts"
import { lead, makePipeline, signedRequest } from "./inbound/pipelines.ts"
import { Load } from "./load/load.ts"
import { type BenchOptions, wanted } from "./options.ts"
import { express, startPeer } from "./peers/peers.ts"
import { type Service, startService } from "./service/service.ts"
import { median, type Row, rowOf } from "./table.ts"

const connections = 64
const counts = [1, 2]
const nameOf = (count: number) => `cluster/workers/${count}`

export async function* clusterRows(options: BenchOptions): AsyncGenerator<Row> {
  const asked = counts.filter((count) => wanted(options, nameOf(count)))
  if (asked.length === 0) return
  const { note, seconds, runs = 5 } = options
  const peer = await startPeer(express)
  const load = new Load()
  const services: Service[] = []
  try {
    const contestants: Contestant[] = [{ name: express, request: { url: peer.url, body: lead() } }]
    for (const count of asked) {
      const service = await startService({ env: { MILLRACE_WORKERS: String(count) } })
      services.push(service)
      const request = signedRequest(await makePipeline(service, { name: "Bench lead" }))
      contestants.push({ name: nameOf(count), request, keeps: service })
    }
    const contest = new Contest(load, contestants)
    note(`cluster: warming up, then ${runs} runs of ${seconds} s each`)
    await contest.warm(connections)
    const measured = await contest.runs({ connections, seconds, runs })
    for (const count of asked) {
      const detail = `${Math.round(median(measured(nameOf(count), "server_us")))} µs CPU an event, of all its processes`
      yield rowOf(nameOf(count), "events/s", measured(nameOf(count)), express, measured(express), detail)
    }
  } finally {
    load.stop()
    peer.stop()
    await Promise.all(services.map((service) => service.stop()))
  }
}
