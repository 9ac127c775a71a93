// The service under test, in a separate process. On request it broadcasts to one channel, through a commit as pipelines do.
import { rmSync } from "node:fs"
import { Live, UnitsOfWork } from "#core"
import { testHost } from "#core/testing"
import { benchFolder } from "../machine.ts"

const dataDir = benchFolder()
const host = await testHost({ dataDir, env: { MILLRACE_LOG_LEVEL: "warn" } })
process.send?.({ url: host.url, token: host.adminKey })

process.on("message", async (message) => {
  const { channel } = message as { channel: string }
  const sentAt = String(process.hrtime.bigint())
  await host
    .get(UnitsOfWork)
    .run((work) => void host.get(Live).stage(work, host.organization.id, { channel, event: "bench", data: { sent: sentAt } }))
})
process.on("disconnect", () => {
  host
    .stop()
    .catch(() => undefined)
    .finally(() => {
      rmSync(dataDir, { recursive: true, force: true })
      process.exit(0)
    })
})
