// A service with one fault in its own code, named by THROWS_IN. `throw` throws in the code itself. `drop` drops a rejected
// promise there. The fault happens once in a data folder. Loaded with --import, by tests only. A fault in a commit belongs
// to a request: the same fault in a commit of a timer ends the service.
import { existsSync, writeFileSync } from "node:fs"
import { Leases } from "../../../core/jobs/leases.ts"
import { currentRequest } from "../../../core/kernel/request-scope.ts"
import { DeferredRun } from "../../../core/pipeline/run/deferred-run.ts"
import { GroupCommit } from "../../../core/storage/commit.ts"
import { Checkpoints } from "../../../core/storage/sqlite/checkpoints.ts"

const places: Record<string, readonly [object, string, number]> = {
  commit: [GroupCommit.prototype, "commit", 300],
  checkpoint: [Checkpoints.prototype, "wrote", 50],
  lease: [Leases.prototype, "renew", 2],
  job: [DeferredRun.prototype, "run", 3],
}

const [place = "", way] = (process.env["THROWS_IN"] ?? "").split(" ")
const [prototype, method, after] = places[place] ?? [{}, "", 0]
const real = Reflect.get(prototype, method) as (...given: unknown[]) => unknown
const mark = "fault-happened"
let calls = 0

Reflect.set(prototype, method, function faulty(this: unknown, ...given: unknown[]) {
  if (place === "commit" && !currentRequest()) return real.apply(this, given)
  if (++calls < after || existsSync(mark)) return real.apply(this, given)
  writeFileSync(mark, "")
  const error = new Error(`a fault of the test in ${place}`)
  if (way === "throw") throw error
  // biome-ignore lint/nursery/noFloatingPromises: the fault of the test.
  Promise.reject(error)
  // A request whose rejection is dropped gets 500. Its commit must then fail as well.
  if (place === "commit") throw error
  return real.apply(this, given)
})
