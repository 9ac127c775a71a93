// Starts the service, says how to use it, and handles signals.
import { join } from "node:path"
import { buildHouse, frameworkRoot, type House } from "./house/house.ts"
import { loadConfig } from "./kernel/config.ts"
import { createLog } from "./kernel/log.ts"

async function main(): Promise<void> {
  const { config } = loadConfig({ defaults: join(frameworkRoot, "config/default.yaml"), env: process.env })
  const log = createLog(config.log.level)
  const house = await buildHouse({ config, log })
  stopOnSignals(house)
  await house.start()
  for (const greeting of house.listening.greetings) console.log(greeting)
}

function stopOnSignals(house: House): void {
  let asked = false
  const stop = (signal: NodeJS.Signals) => {
    // Asked twice: whoever asks does not want to wait.
    if (asked) process.exit(1)
    asked = true
    house.log.info({ signal }, "stopping")
    house.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        house.log.error({ err: error }, "could not stop cleanly")
        process.exit(1)
      },
    )
  }
  process.on("SIGTERM", stop)
  process.on("SIGINT", stop)
}

main().catch((error: unknown) => {
  console.error(`Millrace cannot start. ${error instanceof Error ? error.message : String(error)}`)
  // What is expected to go wrong says so in its message; the stack is for the rest.
  if (/^(debug|trace)$/.test(process.env["MILLRACE_LOG_LEVEL"] ?? "")) console.error(error)
  process.exit(1)
})
