// Slugs that one plugin keeps for itself.
import { AppError, token } from "#core"

export class Reservations {
  readonly #uses = new Map<string, string>()

  reserve(slug: string, use: string): void {
    this.#uses.set(slug, use)
  }

  /** The error of a reserved slug. */
  refusal(slug: string): Error | undefined {
    const use = this.#uses.get(slug)
    if (use === undefined) return undefined
    const message = `"${slug}" is reserved for ${use}; choose another dataset.`
    const fields = [{ path: "dataset_slug", message }]
    return new AppError("failed_precondition", message, { reason: "dataset_reserved", fields, retryable: false })
  }

  /** Throws `failed_precondition` for a reserved slug. */
  refuseArchiving(slug: string): void {
    const use = this.#uses.get(slug)
    if (use === undefined) return
    const message = `"${slug}" is reserved for ${use}, so it cannot be archived.`
    throw new AppError("failed_precondition", `status: ${message}`, { reason: "dataset_reserved", fields: [{ path: "status", message }] })
  }
}

export const ReservationsToken = token<Reservations>("DatasetReservations")
