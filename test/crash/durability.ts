// Runs the service under strace, sends events to it, and checks its answers in the trace.
import { join } from "node:path"
import { untilProcess as until } from "../waiting.ts"
import { makePipeline } from "./rounds.ts"
import { Sender } from "./sender.ts"
import { apiOf, freshFolder, startService } from "./service-process.ts"
import { readTrace, straceTo, type TraceReport } from "./trace.ts"

const connections = 8
/** Enough for many commit groups; each costs about 100 KB of trace. */
const minAnswered = 100

export async function traceAnswers(faults: readonly string[]): Promise<TraceReport & { acknowledged: number }> {
  const folder = freshFolder()
  const trace = join(folder.path, "trace.log")
  const service = await startService({ dataDir: folder.path, faults, under: straceTo(trace) })
  try {
    const { endpoint_id, secret } = await makePipeline(apiOf(service, folder.path), "http://127.0.0.1:9/nobody")
    const sender = new Sender({ url: `${service.url}/v1/inbound/${endpoint_id}`, secret, connections, from: 1 })
    sender.start()
    await until(`${minAnswered} answers`, () => sender.acknowledged.size >= minAnswered || sender.inFlight === 0)
    await sender.stop()
    await service.kill()
    return { ...(await readTrace(trace)), acknowledged: sender.acknowledged.size }
  } finally {
    await service.kill()
    folder.remove()
  }
}
