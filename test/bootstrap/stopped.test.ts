// Memory of a stopped service in a process that starts several services, as tests do.
import { testHost } from "#core/testing"
import { collected } from "../garbage.ts"

describe("a service that was stopped", () => {
  it("is let go by all that observes the process", async () => {
    await collected("the service", await startedAndStopped())
  })
})

async function startedAndStopped(): Promise<WeakRef<object>> {
  const host = await testHost()
  await host.api("GET", "/v1/datasets")
  await host.stop()
  return new WeakRef(host.runtime.container)
}
