// Paused organizations. Calls, events, jobs, schedules, routes and sockets check the pause before they act. A plugin pauses an
// organization in one place. All data is in memory, so a check needs no read.
import { token } from "../kernel/di.ts"
import type { AppError } from "../kernel/errors.ts"
import { type Caller, type PersonAlone, type Role, roleAtLeast } from "./caller.ts"
import type { Access, Hints } from "./operation.ts"

/** The pause of an organization. */
export interface Pause {
  /** The error of its calls, events and connections. */
  readonly error: AppError
  /** The least role that can still read. */
  readonly readers: Role
}

/** The paused organizations on this node. */
export interface Pauses {
  has(organization: string | null): boolean
  /** Throws the error of the pause. */
  refuse(organization: string): void
  /** Throws the error of the pause, unless the call works during it. */
  refuseCall(operation: PausedOperation, caller: PausedCaller): void
  /** Begins or ends (undefined) a pause. Resolves after every hook. */
  set(organization: string, pause: Pause | undefined): Promise<void>
  /** Runs the hook after a pause began or ended on this node. Call this while services are created. */
  onChange(hook: PauseHook): void
}

type PausedCaller = Pick<Caller, "organization" | "role" | "manager"> | Pick<PersonAlone, "organization" | "role" | "manager">

type PauseHook = (organization: string) => Promise<void> | void

interface PausedOperation {
  readonly access: Pick<Access, "whilePaused">
  readonly hints: Pick<Hints, "readOnly">
}

export const Pauses = token<Pauses>("Pauses")

export function createPauses(): Pauses {
  const paused = new Map<string, Pause>()
  const hooks: PauseHook[] = []
  const refuseIn = (organization: string, role: Role, readOnly: boolean) => {
    const pause = paused.get(organization)
    if (pause && !(readOnly && roleAtLeast(role, pause.readers))) throw pause.error
  }
  return {
    has: (organization) => organization !== null && paused.has(organization),
    refuse(organization) {
      const pause = paused.get(organization)
      if (pause) throw pause.error
    },
    refuseCall({ access, hints }, caller) {
      if (paused.size === 0 || access.whilePaused || !caller.organization) return
      const { organization, role, manager } = caller
      refuseIn(organization.id, role, hints.readOnly)
      // A paused organization cannot act in its managed organizations.
      if (manager) refuseIn(manager.id, role, hints.readOnly)
    },
    async set(organization, pause) {
      if (pause) paused.set(organization, pause)
      else if (!paused.delete(organization)) return
      for (const hook of hooks) await hook(organization)
    },
    onChange: (hook) => void hooks.push(hook),
  }
}
