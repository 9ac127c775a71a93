// What a service leaves in the memory of a process that starts one after the other, as tests do.
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { testHost } from "#core/testing"
import { until } from "../waiting.ts"

describe("a service that was stopped", () => {
  it("is let go by all that observes the process", async () => {
    setFlagsFromString("--expose-gc")
    const collectGarbage = runInNewContext("gc") as () => void
    const stopped = await startedAndStopped()
    await until("the service being let go", () => {
      collectGarbage()
      return stopped.deref() === undefined
    })
  })
})

async function startedAndStopped(): Promise<WeakRef<object>> {
  const host = await testHost()
  await host.api("GET", "/v1/datasets")
  await host.stop()
  return new WeakRef(host.runtime.container)
}
