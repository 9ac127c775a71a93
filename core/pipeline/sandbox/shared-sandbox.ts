// A shared sandbox for all engines of this process with equal settings. It serves commands and tests that open several engines
// for a single user's programs. A service has its own sandbox (create-sandbox.ts), and its organizations compile separately.
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

/** Returns the sandbox with these settings. Its processes start on first use, and end after the last user's `stop`. */
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

/** Keeps shared sandboxes alive without users until the process ends. It serves programs that open several engines in sequence. */
export function keepSharedSandboxes(): void {
  isKept = true
}
