// Loaded before the service, in each of its threads. SIGUSR2 starts a CPU profile of all threads; the next SIGUSR2 ends it. Each
// thread writes its profile into the folder in BENCH_PROFILES. A file NAME.begun marks a running profile of a thread.
import { writeFileSync } from "node:fs"
import { Session } from "node:inspector"
import { join } from "node:path"
import { BroadcastChannel, isMainThread, threadId, threadName } from "node:worker_threads"

const folder = process.env["BENCH_PROFILES"] ?? "."
const sampleUs = 500
let session: Session | undefined

const name = isMainThread ? "main" : `${threadName}-${threadId}`

function toggle(): void {
  if (!session) {
    session = new Session()
    session.connect()
    session.post("Profiler.enable")
    session.post("Profiler.setSamplingInterval", { interval: sampleUs })
    session.post("Profiler.start", () => writeFileSync(join(folder, `${name}.begun`), ""))
    return
  }
  const ending = session
  session = undefined
  ending.post("Profiler.stop", (error, result) => {
    if (error) console.error(`No profile of ${name}: ${error.message}`)
    else writeFileSync(join(folder, `${name}.cpuprofile`), JSON.stringify(result.profile))
    ending.disconnect()
  })
}

const channel = new BroadcastChannel("bench-profile")
channel.unref()
channel.onmessage = toggle
if (isMainThread) {
  process.on("SIGUSR2", () => {
    channel.postMessage(null)
    toggle()
  })
}
