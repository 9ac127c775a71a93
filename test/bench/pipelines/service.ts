// A service with many pipelines in a separate process. Reports the time of its start, and its memory after pipelines were used.
import { setTimeout as pause } from "node:timers/promises"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { Store } from "#core"
import { JobCollection } from "#core/engine"
import { testHost } from "#core/testing"
import { eventFor, secretVariable } from "./documents.ts"

setFlagsFromString("--expose-gc")
const collect = runInNewContext("gc") as () => void

const host = await testHost({
  dataDir: process.env["BENCH_DATA"] ?? "",
  capture: true,
  env: { MILLRACE_LOG_LEVEL: "error", MILLRACE_PIPELINES_PATHS: process.env["BENCH_PIPELINES"] ?? "" },
})
// Since the start of the process.
process.send?.({ ready_ms: performance.now() })
host.outgoing.fixtures.push(() => ({ status: 200, headers: {}, body: "" }))

process.on("message", ({ from, to }: { from: number; to: number }) => {
  void useAndWeigh(from, to).then((bytes) => process.send?.({ bytes }))
})
process.on("disconnect", () => {
  host
    .stop()
    .catch(() => undefined)
    .finally(() => process.exit(0))
})

/** Sends one event through each pipeline of a range. Returns the process's memory when idle again. */
async function useAndWeigh(from: number, to: number): Promise<number> {
  for (let index = from; index < to; index++) {
    const pipeline = await host.invoke<{ inbound_url: string }>("event_pipelines.get", { slug: `pipeline-${index}` })
    const send = () => host.send(pipeline, eventFor(index), { secret: process.env[secretVariable] ?? "" })
    let { status } = await send()
    // A busy machine may starve the sandbox. The event must then be sent again.
    for (let tries = 0; status === 503 && tries < 5; tries++) {
      await pause(1_000)
      status = (await send()).status
    }
    if (status !== 201) throw new Error(`pipeline-${index} answered ${status}.`)
  }
  const jobs = host.get(Store).open(JobCollection)
  while ((await jobs.count({ state: "queued" })) > 0) await pause(50)
  host.outgoing.mails.length = 0
  host.outgoing.calls.length = 0
  for (let round = 0; round < 4; round++) {
    collect()
    await pause(100)
  }
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
