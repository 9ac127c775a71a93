// The live channels `datasets:<slug>`: rows as they are written and deleted. Nothing is made for a table that nobody
// looks at, and nothing is kept: a client that lost its connection is told so, and reads the rows again.
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
  /** As given; not to be changed. */
  readonly values: Readonly<Record<string, Json>>
  readonly origin: RowOrigin
  /** Keeps the row. */
  readonly work: UnitOfWork
}

/** Runs where a row is staged, with every event: must be fast, and neither wait nor throw. Its commit may still be refused. */
export type RowFollower = (row: FollowedRow) => void

/** Receivers of rows as they are written, of any dataset without a reservation. */
export const RowFollowers = defineExtensionPoint<RowFollower>({ id: "datasets.row-followers" })
