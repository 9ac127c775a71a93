// `npm run bench -- --peers`: the same work in other programs. The handwritten handler and PocketBase store their requests.
// Node-RED receives the event over HTTP, runs a function, appends a line to a file without a flush, and answers. The service does
// all the work of a full pipeline, durably.
import { Contest } from "./contest.ts"
import { lead, makePipeline, signedRequest } from "./inbound/pipelines.ts"
import { Load } from "./load/load.ts"
import { type BenchOptions, BenchProblem, isSelected } from "./options.ts"
import { type KeepingPeer, pocketBaseVariable, startHandler, startPocketBase } from "./peers/keeping.ts"
import { startNodeRed } from "./peers/node-red.ts"
import { type Service, startService } from "./service/service.ts"
import { median, type Row, rowOf } from "./table.ts"

const connections = 64
const name = `peers/node-red/c${connections}`
const handlerRow = `peers/handler/c${connections}`
const pocketBaseRow = `peers/pocketbase/c${connections}`

export async function* peerRows(options: BenchOptions): AsyncGenerator<Row> {
  yield* keepingRows(options)
  yield* nodeRedRows(options)
}

async function* keepingRows(options: BenchOptions): AsyncGenerator<Row> {
  const { note, seconds, runs = 5 } = options
  const binary = process.env[pocketBaseVariable]
  const peers: { row: string; peer: KeepingPeer; about: string }[] = []
  const load = new Load()
  let service: Service | undefined
  try {
    if (isSelected(options, handlerRow))
      peers.push({ row: handlerRow, peer: await startHandler(lead()), about: "the peer verifies, validates, upserts and logs, flushed" })
    if (isSelected(options, pocketBaseRow)) {
      if (binary === undefined) note(`${pocketBaseRow} is left out: ${pocketBaseVariable} names no binary`)
      else peers.push({ row: pocketBaseRow, peer: await startPocketBase(binary, lead()), about: "the peer creates one record" })
    }
    if (peers.length === 0) return
    service = await startService()
    const own = signedRequest(await makePipeline(service, { name: "Bench" }))
    const contest = new Contest(load, [...peers.map(({ peer }) => peer.contestant), { name: "full", request: own, keeps: service }])
    note(`peers that keep: warming up, then ${runs} runs of ${seconds} s each`)
    await contest.warm(connections)
    const measured = await contest.runs({ connections, seconds, runs })
    const of = (who: string) =>
      `p99 ${Math.round(median(measured(who, "p99")))} ms, ${Math.round(median(measured(who, "server_us")))} µs CPU`
    for (const { row, peer, about } of peers)
      yield rowOf(row, "events/s", measured("full"), peer.name, measured(peer.name), `${of("full")} beside ${of(peer.name)}; ${about}`)
  } finally {
    load.stop()
    await Promise.all([service?.stop(), ...peers.map(({ peer }) => peer.stop())])
  }
}

async function* nodeRedRows(options: BenchOptions): AsyncGenerator<Row> {
  if (!isSelected(options, name)) return
  const { note, seconds, runs = 5 } = options
  note(`${name}: installing Node-RED into a temporary folder`)
  const nodeRed = await startNodeRed()
  const service = await startService()
  const load = new Load()
  try {
    const own = signedRequest(await makePipeline(service, { name: "Bench" }))
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
