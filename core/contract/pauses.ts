// Organizations that do not act at present. Calls, events, jobs, schedules, routes and sockets ask here before they act,
// so a plugin that pauses an organization says so in one place. Everything is in memory: asking costs no read.
import { token } from "../kernel/di.ts"
import type { AppError } from "../kernel/errors.ts"
import { type Caller, type PersonAlone, type Role, roleAtLeast } from "./caller.ts"
import type { Access, Hints } from "./operation.ts"

/** Why an organization does not act. */
export interface Pause {
  /** The error of its calls, events and connections. */
  readonly error: AppError
  /** The least role that still reads. */
  readonly readers: Role
}

/** The paused organizations, as this node knows them. */
export interface Pauses {
  has(organization: string | null): boolean
  /** Throws the error of the pause. */
  refuse(organization: string): void
  /** Throws the error of the pause, if the call is not one that goes on during it. */
  refuseCall(operation: PausedOperation, caller: PausedCaller): void
  /** Begins or ends (undefined) a pause. Resolves after every hook. */
  set(organization: string, pause: Pause | undefined): Promise<void>
  /** Runs after a pause began or ended on this node. To be called while services are created. */
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
      // A paused organization does not act in those that it manages.
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
