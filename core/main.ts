// Starts the service, in this process or as the parent of several workers, says how to use it, and handles signals.
import { join } from "node:path"
import { frameworkRoot } from "./bootstrap/plugins.ts"
import { dismissLeftOver } from "./cluster/workers/orphans.ts"
import { systemClock } from "./kernel/clock.ts"
import { type CoreConfig, loadConfig } from "./kernel/config.ts"
import { createLog, type Logger } from "./kernel/log.ts"

interface Service {
  readonly log: Logger
  readonly listening: { readonly greetings: readonly string[] }
  start(): Promise<void>
  stop(): Promise<void>
  /** Ends what would outlive this process. */
  kill?(): void
}

async function main(): Promise<void> {
  const { config } = loadConfig({ defaults: join(frameworkRoot, "config/default.yaml"), project: process.cwd(), env: process.env })
  const log = createLog(config.log.level)
  const service = await (config.workers > 1 ? parentOf({ config, log }) : wholeHouse({ config, log }))
  stopOnSignals(service)
  await service.start()
  for (const greeting of service.listening.greetings) console.log(greeting)
}

interface ServiceArgs {
  readonly config: CoreConfig
  readonly log: Logger
}

/** Loads nothing of what only its workers need. */
async function parentOf(args: ServiceArgs): Promise<Service> {
  const { Parent } = await import("./bootstrap/workers/parent.ts")
  return new Parent(args)
}

async function wholeHouse({ config, log }: ServiceArgs): Promise<Service> {
  await dismissLeftOver(config.data_dir, config.server, systemClock)
  const { buildRuntime } = await import("./bootstrap/runtime.ts")
  return buildRuntime({ config, log })
}

function stopOnSignals(service: Service): void {
  let asked = false
  const stop = (signal: NodeJS.Signals) => {
    // Asked twice: whoever asks does not want to wait.
    if (asked) {
      service.kill?.()
      process.exit(1)
    }
    asked = true
    service.log.info({ signal }, "stopping")
    service.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        service.log.error({ err: error }, "could not stop cleanly")
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
