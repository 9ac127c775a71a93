// The load generator, a separate process: autocannon over keep-alive connections, one request at a time on each. It first
// prepares requests, then sends them. No request is aborted at the end, so all received requests are answered.
import autocannon from "autocannon"
import { type RequestPool as Pool, RequestPool, type RequestSpec } from "./requests.ts"

export type Order = { readonly prepare: RequestSpec; readonly count: number } | { readonly run: RunSpec }

export interface RunSpec {
  readonly url: string
  readonly connections: number
  readonly seconds: number
  /** Evenly spaced requests per second; absent: the maximum rate. */
  readonly perSecond?: number
  /** Send the prepared requests again once all are sent; otherwise the run ends. */
  readonly repeat: boolean
}

export interface Measured {
  /** 2xx answers per second of the measured time. */
  readonly perSecond: number
  /** Milliseconds from a request's due time to its answer. */
  readonly p50: number
  readonly p90: number
  readonly p99: number
  readonly p999: number
  readonly max: number
  /** Counts of the whole run, its beginning and end included. */
  readonly ok: number
  readonly other: number
  /** Other answers by status, such as `429: 12`. */
  readonly others: string
  /** CPU microseconds of this process per answer. */
  readonly generator_us: number
}

/** Members of autocannon's client that its types lack. */
interface OpenClient extends autocannon.Client {
  getRequestBuffer(): Buffer
  destroy(): void
  _doRequest(): void
  reqsMade: number
  responseMax?: number
  rate?: number
  reqsMadeThisSecond: number
  paused?: boolean
  /** Milliseconds between a request's due time and its sending. */
  lag?: number
}

/** Time for connections and buffers before the measurement. */
const settleMs = 500
/** A slower answer does not count. */
const timeoutS = 20

let pool: Pool | undefined

process.on("message", (order: Order) => {
  if ("prepare" in order) {
    pool = undefined
    pool = new RequestPool(order.prepare, order.count)
    process.send?.({ prepared: pool.count })
  } else {
    run(order.run).then(
      (measured) => process.send?.({ measured }),
      (error: unknown) => process.send?.({ failed: String(error) }),
    )
  }
})
process.on("disconnect", () => process.exit(0))

async function run({ url, connections, seconds, perSecond, repeat }: RunSpec): Promise<Measured> {
  const requests = pool
  if (!requests || (!repeat && requests.left < 2 * connections)) throw new Error("Fewer requests are prepared than connections need.")
  const clients: OpenClient[] = []
  const free: OpenClient[] = []
  const latencies: number[] = []
  let [ok, other, finishing, ran] = [0, 0, false, 0]
  let [began, ended, sentCount] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, 0]
  let cpu = process.cpuUsage()

  const others = new Map<string, number>()
  const refused = (how: string) => {
    other++
    others.set(how, (others.get(how) ?? 0) + 1)
  }
  const finish = () => {
    if (finishing) return
    finishing = true
    const now = performance.now()
    cpu = process.cpuUsage(cpu)
    ended = Math.min(ended, now)
    ran = ended - began
    for (const client of clients) client.responseMax = client.reqsMade
    for (const client of free) client.destroy()
  }
  const pace = () => {
    if (perSecond === undefined || finishing) return
    const now = performance.now()
    for (const due = ((now - began + settleMs) * perSecond) / 1_000; sentCount < due && free.length > 0; sentCount++) {
      const client = free.shift() as OpenClient
      client.lag = now - (began - settleMs) - (sentCount * 1_000) / perSecond
      client.reqsMadeThisSecond = 0
      client.paused = false
      client._doRequest()
    }
  }

  const completion = Promise.withResolvers<void>()
  const settings = {
    url,
    connections,
    duration: seconds + 2 * timeoutS,
    timeout: timeoutS,
    sampleInt: 100,
    setupClient(input) {
      const client = input as OpenClient
      clients.push(client)
      client.getRequestBuffer = () => {
        const request = requests.take()
        if (!repeat && requests.left === 0) finish()
        return request
      }
    },
  } as autocannon.Options
  const instance = autocannon(settings, (error) => (error ? completion.reject(error) : completion.resolve()))
  instance.on("start", () => {
    began = performance.now() + settleMs
    if (perSecond !== undefined) {
      // Each sends once by itself, and later only on request.
      for (const client of clients) Object.assign(client, { rate: 1, reqsMadeThisSecond: 1 })
    }
    setTimeout(() => {
      cpu = process.cpuUsage()
    }, settleMs)
    setTimeout(finish, settleMs + seconds * 1_000)
  })
  const pacing = perSecond === undefined ? undefined : setInterval(pace, 1)
  instance.on("response", (input, status, _bytes, milliseconds) => {
    const client = input as OpenClient
    if (status >= 200 && status < 300) ok++
    else refused(String(status))
    const now = performance.now()
    if (now >= began && now < ended) latencies.push(milliseconds + (client.lag ?? 0))
    if (finishing) setImmediate(() => client.destroy())
    else if (perSecond !== undefined) {
      free.push(client)
      setImmediate(pace)
    }
  })
  instance.on("reqError", (error) => refused(String((error as Error | undefined)?.message ?? "no answer")))
  await completion.promise
  clearInterval(pacing)
  const sorted = Float64Array.from(latencies).sort()
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
  return {
    perSecond: (sorted.length * 1_000) / ran,
    p50: at(0.5),
    p90: at(0.9),
    p99: at(0.99),
    p999: at(0.999),
    max: at(1),
    ok,
    other,
    others: [...others].map(([how, count]) => `${how}: ${count}`).join(", "),
    generator_us: (cpu.user + cpu.system) / Math.max(1, sorted.length),
  }
}
