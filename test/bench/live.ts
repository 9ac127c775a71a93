// What a live update costs: one broadcast, committed first, to 5,000 subscribers of one node over WebSockets. The figure
// is the time from the call that stages it to the last but one percent of the sockets in another process.
import { type ChildProcess, fork } from "node:child_process"
import { join } from "node:path"
import { median, type Row } from "./table.ts"

/** The most that 99 of 100 subscribers may wait. */
export const allowedMs = 250

export interface LiveBenchOptions {
  readonly only: string
  readonly runs: number
}

const channel = "bench"

export async function* liveRows({ only, runs }: LiveBenchOptions): AsyncGenerator<Row> {
  for (const count of [1_000, 5_000]) {
    const name = `live/broadcast/s${count}`
    if (name.startsWith(only)) yield await broadcast(name, count, runs)
  }
}

async function broadcast(name: string, count: number, runs: number): Promise<Row> {
  const service = child("live-service.ts")
  const subscribers = child("live-subscribers.ts")
  try {
    const { url, token } = await told<{ url: string; token: string }>(service)
    const joined = told<{ joined: number }>(subscribers)
    subscribers.send({ url, token, count, channel })
    await joined
    const p99: number[] = []
    const last: number[] = []
    // The first warms up: sockets, buffers, compiled code.
    for (let run = 0; run < runs * 10 + 1; run++) {
      const heard = told<{ waits: number[] }>(subscribers)
      service.send({ channel })
      const waits = (await heard).waits.sort((left, right) => left - right)
      if (waits.length !== count) throw new Error(`${name}: ${waits.length} of ${count} subscribers heard the broadcast`)
      if (run === 0) continue
      p99.push(waits[Math.ceil(count * 0.99) - 1] ?? Number.NaN)
      last.push(waits[count - 1] ?? Number.NaN)
    }
    const worst = Math.max(...p99)
    return {
      name,
      ours: rounded(median(p99)),
      peer: allowedMs,
      peer_name: "allowed",
      ratio: Math.round((median(p99) / allowedMs) * 1_000) / 1_000,
      unit: "ms p99",
      ours_range: [rounded(Math.min(...p99)), rounded(worst)],
      note: `all ${count} reached in ${rounded(median(last))} ms (median of ${p99.length}), at most ${rounded(Math.max(...last))}`,
    }
  } finally {
    subscribers.disconnect()
    service.disconnect()
  }
}

function child(file: string): ChildProcess {
  return fork(join(import.meta.dirname, file), { env: { ...process.env, NODE_ENV: "test" }, stdio: "inherit" })
}

function told<T>(from: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null) => reject(new Error(`A process of the bench ended with ${code}`))
    from.once("exit", ended)
    from.once("message", (message) => {
      from.off("exit", ended)
      resolve(message as T)
    })
  })
}

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10
}
