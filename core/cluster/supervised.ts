// The service's side of its supervisor (core/supervisor.ts): reports that it listens, and receives stops.

/** Environment variable of a supervised service. */
export const supervisedVariable = "SUPERVISED"

/** `stop` is the name of the signal. */
export interface ToService {
  readonly stop: string
}

export type ToSupervisor = "listening"

export interface SupervisedPlace {
  listens(): void
  /** Runs the callback when the supervisor asks for a stop or has ended itself. */
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
