// Receivers of rows as they are written, of any dataset without a reservation.
import { defineExtensionPoint, type Json, type UnitOfWork } from "#core"
import type { RowOrigin } from "./row-identity.ts"

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

export const RowFollowers = defineExtensionPoint<RowFollower>({ id: "datasets.row-followers" })
