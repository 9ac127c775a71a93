// The live channels `datasets:<slug>`: written and deleted rows. Messages exist only for tables with subscribers, and are not
// stored. After a lost connection, the client is notified and reads the rows again.
import { defineChannel, defineExtensionPoint, type Json, type Live, type UnitOfWork } from "#core"
import type { RowOrigin } from "./row-identity.ts"

export const rowsChannel = defineChannel({
  name: "datasets:*",
  scope: "datasets:read",
  summary: "Rows of one dataset as they are written (`row_written`: `id`, `values` as given) and deleted (`row_deleted`: `id`).",
  durable: false,
})

export class RowNews {
  readonly #live: Live

  constructor(live: Live) {
    this.#live = live
  }

  written(work: UnitOfWork, organization: string, slug: string, id: string, values: Record<string, Json>): void {
    this.#tell(work, organization, slug, "row_written", { id, values })
  }

  deleted(work: UnitOfWork, organization: string, slug: string, id: string): void {
    this.#tell(work, organization, slug, "row_deleted", { id })
  }

  #tell(work: UnitOfWork, organization: string, slug: string, event: string, data: Json): void {
    const message = { channel: `datasets:${slug}`, event, data }
    if (this.#live.hasSubscribers(organization, message)) work.afterCommit(() => this.#live.emit(organization, message))
  }
}

export interface FollowedRow {
  readonly organization: string
  /** Slug. */
  readonly dataset: string
  readonly row_id: string
  /** Values of the write. Do not change them. */
  readonly values: Readonly<Record<string, Json>>
  readonly origin: RowOrigin
  /** Unit of work that stores the row. */
  readonly work: UnitOfWork
}

/** Runs for every staged row, during the event. Must be fast, and must not wait or throw. The commit may still fail. */
export type RowFollower = (row: FollowedRow) => void

/** Receivers of written rows, for all datasets without a reservation. */
export const RowFollowers = defineExtensionPoint<RowFollower>({ id: "datasets.row-followers" })
