// Cost of page analytics on arrival: batches in the form of beacons from two thousand visitors. Each event is checked, written as
// a row and journalled before the answer. Compared with the express echo and the same bodies. Also the beacon's size.
import { gzipSync } from "node:zlib"
import { beacon } from "../../../plugins/pages/page-events/beacon/scripts.generated.ts"
import { Contest } from "../contest.ts"
import { Load } from "../load/load.ts"
import { type BenchOptions, isSelected } from "../options.ts"
import { express, startPeer } from "../peers/peers.ts"
import { startService } from "../service/service.ts"
import { median, type Row, rowOf } from "../table.ts"
import { publishPage } from "./page.ts"

const connections = 64
const events = 10
const collectName = `pages/collect/c${connections}`
const sizeName = "pages/beacon/size"
const allowedBytes = 2_048
/** All requests come from one address. */
const unlimited = { address_per_minute: 10_000_000, organization_per_minute: 10_000_000 }

export async function* collectRows(options: BenchOptions): AsyncGenerator<Row> {
  if (isSelected(options, sizeName)) yield rowOf(sizeName, "bytes gzipped", [gzipSync(beacon).length], "allowed", [allowedBytes])
  if (!isSelected(options, collectName)) return
  const { note, runs = 3 } = options
  const seconds = Math.min(3, options.seconds)
  const service = await startService({ env: { MILLRACE_PLUGINS_SETTINGS: JSON.stringify({ "page-events": unlimited }) } })
  const peer = await startPeer(express)
  const load = new Load()
  try {
    const page = await publishPage(service)
    const body = { kind: "batch", events, artifact: page.id } as const
    const contest = new Contest(load, [
      { name: express, request: { url: peer.url, body } },
      { name: "collect", request: { url: page.events_url, body }, keeps: service, leaves: { rows: events, entries: events } },
    ])
    note(`${collectName}: warming up, then ${runs} runs of ${seconds} s each`)
    await contest.warm(connections)
    const measured = await contest.runs({ connections, seconds, runs })
    const cost = median(measured("collect", "server_us")) / events
    const detail = `${events} events a batch: ${Math.round(median(measured("collect")) * events)} events/s, ${Math.round(cost)} µs CPU an event`
    yield rowOf(collectName, "batches/s", measured("collect"), express, measured(express), detail)
  } finally {
    load.stop()
    peer.stop()
    await service.stop()
  }
}
