// The service's side of its supervisor (core/supervisor.ts): when to stop, and that it listens.

/** Environment variable of a supervised service. */
export const supervisedVariable = "SUPERVISED"

/** Names the signal. */
export interface ToService {
  readonly stop: string
}

export type ToSupervisor = "listening"

export interface SupervisedPlace {
  listens(): void
  /** Calls when the supervisor asks the service to stop, or has ended itself. */
  onStop(run: (reason: string) => void): void
}

/** Returns undefined if the process has no supervisor. */
export function supervisedPlace(): SupervisedPlace | undefined {
  if (process.env[supervisedVariable] === undefined || !process.send) return undefined
  // Workers of this process have another parent.
  delete process.env[supervisedVariable]
  return {
    listens() {
      if (process.connected) process.send?.("listening" satisfies ToSupervisor)
    },
    onStop(run) {
      process.on("message", ({ stop }: ToService) => run(stop))
      process.on("disconnect", () => run("the end of its supervisor"))
      if (!process.connected) run("the end of its supervisor")
    },
  }
}
