// Cost of a complete event: verified, checked, transformed, written as a row, stamped and journalled, on disk before its answer.
// The peers only parse and echo. Also the latency at half of the load.
import { Contest, type Contestant, type Figures } from "../contest.ts"
import { Load } from "../load/load.ts"
import { type BenchOptions, isSelected } from "../options.ts"
import { express, http, startPeer } from "../peers/peers.ts"
import { startService } from "../service/service.ts"
import { median, type Row, rowOf } from "../table.ts"
import { lead, makePipeline, ofPerson, signedRequest } from "./pipelines.ts"
import { tailRows, wantsTail } from "./tail.ts"

const own = "full"
const person = "person"
const withLead = "inbound/full/c64/lead"
const halfLoad = "inbound/full/half-load/p99"

export async function* fullRows(options: BenchOptions): AsyncGenerator<Row> {
  if (!isSelected(options, "inbound/full/")) return
  const { note, machine, runs = 7, seconds } = options
  const service = await startService()
  const peers = [await startPeer(express), await startPeer(http)]
  const load = new Load()
  try {
    const pipeline = await makePipeline(service, { name: "Bench" })
    const contestants: Contestant[] = [
      ...peers.map(({ name, url }) => ({ name, request: { url, body: lead() } })),
      { name: own, request: signedRequest(pipeline), keeps: service },
    ]
    const contest = new Contest(load, contestants)
    note("inbound/full: warming up")
    await contest.warm(64)
    let capacity = 0
    const needsCapacity = isSelected(options, halfLoad) || wantsTail(options)
    for (const connections of [64, 256]) {
      const name = `inbound/full/c${connections}`
      if (!isSelected(options, name) && !isSelected(options, `${name}/http`) && !(connections === 64 && needsCapacity)) continue
      note(`${name}: ${runs} runs of ${seconds} s each`)
      const measured = await contest.runs({ connections, seconds, runs })
      if (connections === 64) capacity = median(measured(own))
      const detail = `p99 ${ms(median(measured(own, "p99")))} beside ${ms(median(measured(express, "p99")))}; ${cpuOf(measured)}`
      for (const [rowName, peer] of [
        [name, express],
        [`${name}/http`, http],
      ] as const) {
        if (isSelected(options, rowName)) yield rowOf(rowName, "events/s", measured(own), peer, measured(peer), detail)
      }
    }
    if (isSelected(options, halfLoad)) {
      note(`${halfLoad}: ${Math.round(capacity / 2)} events/s`)
      const measured = await new Contest(
        load,
        contestants.filter(({ name }) => name !== http),
      ).runs({
        connections: 64,
        seconds,
        runs: Math.min(3, runs),
        perSecond: capacity / 2,
      })
      const peer = measured(express, "p99")
      const goal = 2 * median(peer) + 2 * machine.fsync_p99_ms
      const detail = `at ${Math.round(capacity / 2)} events/s, p50 ${ms(median(measured(own, "p50")))}; goal ${ms(goal)}: twice the peer's and twice a flush's p99`
      yield rowOf(halfLoad, "ms", measured(own, "p99"), express, peer, detail)
    }
    yield* tailRows(options, load, { ...contestants.at(-1), name: own } as Contestant, capacity)
    if (!isSelected(options, withLead)) return
    const request = signedRequest(await makePipeline(service, { ...ofPerson, name: "Bench lead" }))
    const people = new Contest(load, [...contestants.slice(0, 1), { name: person, request: request, keeps: service }])
    await people.warm(64)
    note(`${withLead}: ${runs} runs of ${seconds} s each`)
    const measured = await people.runs({ connections: 64, seconds, runs })
    const detail = `p99 ${ms(median(measured(person, "p99")))}; ${Math.round(median(measured(person, "server_us")))} µs CPU an event, with most of its lead`
    yield rowOf(withLead, "events/s", measured(person), express, measured(express), detail)
  } finally {
    load.stop()
    for (const peer of peers) peer.stop()
    await service.stop()
  }
}

function cpuOf(measured: Figures): string {
  const us = (of: "server_us" | "generator_us") => Math.round(median(measured(own, of)))
  return `CPU an event: service ${us("server_us")} µs, load generator ${us("generator_us")} µs (${Math.round(median(measured(express, "generator_us")))} µs for the peer)`
}

function ms(value: number): string {
  return `${Math.round(value * 10) / 10} ms`
}
