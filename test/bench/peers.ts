// `npm run bench -- --peers`: the same work in other programs. Node-RED takes the event over HTTP, runs a function, appends
// a line to a file, unflushed, and answers; the service does all that a full pipeline does, durably.
import { Contest } from "./contest.ts"
import { makePipeline, signedRequest } from "./inbound/pipelines.ts"
import { Load } from "./load/load.ts"
import { type BenchOptions, BenchProblem, wanted } from "./options.ts"
import { startNodeRed } from "./peers/node-red.ts"
import { startService } from "./service/service.ts"
import { median, type Row, rowOf } from "./table.ts"

const connections = 64
const name = `peers/node-red/c${connections}`

export async function* peerRows(options: BenchOptions): AsyncGenerator<Row> {
  if (!wanted(options, name)) return
  const { note, seconds, runs = 5 } = options
  note(`${name}: installing Node-RED into a temporary folder`)
  const nodeRed = await startNodeRed()
  const service = await startService()
  const load = new Load()
  try {
    const own = signedRequest(await makePipeline(service, { name: "Bench lead" }))
    const contest = new Contest(load, [
      { name: "Node-RED", request: { url: nodeRed.url, body: own.body } },
      { name: "full", request: own, keeps: service },
    ])
    note(`${name}: Node-RED ${nodeRed.version}; warming up, then ${runs} runs of ${seconds} s each`)
    await contest.warm(connections)
    const before = nodeRed.lines()
    const measured = await contest.runs({ connections, seconds, runs })
    const answered = measured("Node-RED", "ok").reduce((sum, ok) => sum + ok, 0)
    if (nodeRed.lines() - before !== answered)
      throw new BenchProblem(`${name}: the run is void: ${answered} answered, ${nodeRed.lines() - before} lines appended`)
    const p99 = (of: string) => Math.round(median(measured(of, "p99")))
    const detail = `p99 ${p99("full")} ms beside ${p99("Node-RED")} ms; the peer does not verify, keep a journal or flush`
    yield rowOf(name, "events/s", measured("full"), `Node-RED ${nodeRed.version}`, measured("Node-RED"), detail)
  } finally {
    load.stop()
    await Promise.all([service.stop(), nodeRed.stop()])
  }
}
