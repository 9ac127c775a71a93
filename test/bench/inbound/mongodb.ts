// The full path on MongoDB, with the server on the same cores. Compared with the express echo (goal: 0.4 times its rate). Also
// the service's own cost per event, compared with the embedded store (goal: at most 1.2 times).
import { Contest, type Contestant } from "../contest.ts"
import { Load } from "../load/load.ts"
import { type BenchOptions, isSelected } from "../options.ts"
import { express, startPeer } from "../peers/peers.ts"
import { startMongo } from "../service/mongo.ts"
import { startService } from "../service/service.ts"
import { median, type Row, rowOf } from "../table.ts"
import { lead, makePipeline, signedRequest } from "./pipelines.ts"

const connections = 64
const rateRow = `inbound/mongodb/full/c${connections}`
const cpuRow = "inbound/mongodb/cpu"

export async function* mongodbRows(options: BenchOptions): AsyncGenerator<Row> {
  if (!isSelected(options, rateRow) && !isSelected(options, cpuRow)) return
  const { note, seconds, runs = 5 } = options
  const mongo = await startMongo()
  if (!mongo) {
    note(`${rateRow} is left out: no mongod. Put one on PATH, or set MONGOMS_SYSTEM_BINARY.`)
    return
  }
  const peer = await startPeer(express)
  const onMongo = await startService({ storageUrl: mongo.url })
  const embedded = await startService()
  const load = new Load()
  try {
    const contestants: Contestant[] = [
      { name: express, request: { url: peer.url, body: lead() } },
      { name: "mongodb", request: signedRequest(await makePipeline(onMongo, { name: "Bench" })), keeps: onMongo },
      { name: "sqlite", request: signedRequest(await makePipeline(embedded, { name: "Bench" })), keeps: embedded },
    ]
    const contest = new Contest(load, contestants)
    note(`${rateRow}: warming up, then ${runs} runs of ${seconds} s each`)
    await contest.warm(connections)
    const measured = await contest.runs({ connections, seconds, runs })
    if (isSelected(options, rateRow)) {
      const detail = `goal 0.4; p99 ${Math.round(median(measured("mongodb", "p99")))} ms; mongod on the same ${options.machine.cores} cores`
      yield rowOf(rateRow, "events/s", measured("mongodb"), express, measured(express), detail)
    }
    if (isSelected(options, cpuRow)) {
      const detail = "the service's own processes; goal 1.2 at most"
      yield rowOf(cpuRow, "CPU µs/event", measured("mongodb", "server_us"), "sqlite driver", measured("sqlite", "server_us"), detail)
    }
  } finally {
    load.stop()
    peer.stop()
    await Promise.all([onMongo.stop(), embedded.stop()])
    await mongo.stop()
  }
}
