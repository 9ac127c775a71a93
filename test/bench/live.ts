// Cost of a live update: one broadcast, committed first, to 5,000 WebSocket subscribers of one node. The figure is the time from
// the staging call to the 99th percentile of the sockets in another process.
import { child, readMessage } from "./children.ts"
import { type BenchOptions, isSelected } from "./options.ts"
import { median, type Row, rowOf } from "./table.ts"

/** Maximum wait of 99 of 100 subscribers. */
const allowedMs = 250

const channel = "bench"

export async function* liveRows(options: BenchOptions): AsyncGenerator<Row> {
  for (const count of [1_000, 5_000]) {
    const name = `live/broadcast/s${count}`
    if (!isSelected(options, name)) continue
    options.note(name)
    yield await broadcast(name, count, options.runs ?? 3)
  }
}

async function broadcast(name: string, count: number, runs: number): Promise<Row> {
  const service = child("live/service.ts", { NODE_ENV: "test" })
  const subscribers = child("live/subscribers.ts")
  try {
    const { url, token } = await readMessage<{ url: string; token: string }>(service)
    const joined = readMessage<{ joined: number }>(subscribers)
    subscribers.send({ url, token, count, channel })
    await joined
    const p99: number[] = []
    const last: number[] = []
    // The first run is warm-up: sockets, buffers, compiled code.
    for (let run = 0; run < runs * 10 + 1; run++) {
      const message = readMessage<{ waits: number[] }>(subscribers)
      service.send({ channel })
      const waits = (await message).waits.sort((left, right) => left - right)
      if (waits.length !== count) throw new Error(`${name}: ${waits.length} of ${count} subscribers heard the broadcast`)
      if (run === 0) continue
      p99.push(waits[Math.ceil(count * 0.99) - 1] ?? Number.NaN)
      last.push(waits[count - 1] ?? Number.NaN)
    }
    const detail = `all ${count} reached in ${rounded(median(last))} ms (median of ${p99.length}), at most ${rounded(Math.max(...last))}`
    return rowOf(name, "ms p99", p99, "allowed", [allowedMs], detail)
  } finally {
    subscribers.disconnect()
    service.disconnect()
  }
}

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10
}
