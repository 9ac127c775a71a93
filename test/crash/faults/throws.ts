// A service with faults in its own code. The file `fault` in the data folder names the next one, for example `commit throw`.
// `throw` throws in the code itself. `drop` drops a rejected promise there. A fault removes the file. A fault in a commit
// belongs to a request: the same fault in a commit of a timer ends the service. Loaded with --import, by tests only.
import { existsSync, readFileSync, rmSync } from "node:fs"
import { Leases } from "../../../core/jobs/leases.ts"
import { currentRequest } from "../../../core/kernel/request-scope.ts"
import { DeferredRun } from "../../../core/pipeline/run/deferred-run.ts"
import { GroupCommit } from "../../../core/storage/commit.ts"
import { Checkpoints } from "../../../core/storage/sqlite/checkpoints.ts"

const places: Readonly<Record<string, readonly [prototype: object, method: string]>> = {
  commit: [GroupCommit.prototype, "commit"],
  checkpoint: [Checkpoints.prototype, "wrote"],
  lease: [Leases.prototype, "renew"],
  job: [DeferredRun.prototype, "run"],
}

for (const [place, [prototype, method]] of Object.entries(places)) {
  const real = Reflect.get(prototype, method) as (...inputs: unknown[]) => unknown
  Reflect.set(prototype, method, function faulty(this: unknown, ...wanted: unknown[]) {
    const way = place === "commit" && !currentRequest() ? undefined : takeFault(place)
    if (way === undefined) return real.apply(this, wanted)
    const error = new Error(`a fault of the test in ${place}`)
    if (way === "throw") throw error
    // biome-ignore lint/nursery/noFloatingPromises: the fault of the test.
    Promise.reject(error)
    // A request whose rejection is dropped gets 500. Its commit must then fail as well.
    if (place === "commit") throw error
    return real.apply(this, wanted)
  })
}

/** Removes and returns the pending fault of this place. */
function takeFault(place: string): string | undefined {
  if (!existsSync("fault")) return undefined
  const [expected, way] = readFileSync("fault", "utf8").split(" ")
  if (expected !== place) return undefined
  rmSync("fault")
  return way
}
