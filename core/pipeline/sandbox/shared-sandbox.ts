// One sandbox for all engines of this process that want the same settings: for commands and tests, which open several
// engines for one user's own programs. A service has one of its own (create-sandbox.ts), whose organizations compile
// apart from each other.
import { systemClock } from "../../kernel/clock.ts"
import type { CoreConfig } from "../../kernel/config.ts"
import { createLog } from "../../kernel/log.ts"
import { createSandbox } from "./create-sandbox.ts"
import type { Sandbox } from "./sandbox.ts"

interface Shared {
  readonly sandbox: Sandbox
  users: number
}

const shared = new Map<string, Shared>()
let isKept = false

/** The sandbox with these settings; its processes start on first use, and end when the last user has stopped it. */
export function sharedSandbox(config: CoreConfig["sandbox"]): Sandbox {
  const key = JSON.stringify(config)
  const one = shared.get(key) ?? {
    sandbox: createSandbox({ config, log: createLog("silent"), clock: systemClock, compileAs: "all" }),
    users: 0,
  }
  shared.set(key, one)
  one.users++
  let isStopped = false
  return {
    ...one.sandbox,
    async stop() {
      if (isStopped) return
      isStopped = true
      if (--one.users > 0 || isKept) return
      shared.delete(key)
      await one.sandbox.stop()
    },
  }
}

/** From now on they are kept without users too, until the process ends: for what opens one engine after the other. */
export function keepSharedSandboxes(): void {
  isKept = true
}
