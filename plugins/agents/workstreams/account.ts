// A workstream's model budget, and its daily limit of escalations.
import { AppError, type Store, type UnitOfWork } from "#core"
import type { Account } from "../models/index.ts"
import { type StoredWorkstream, WorkstreamCollection } from "./collections.ts"

export const accountKind = "workstream"

/**
 * Returns the account of a workstream. Model calls for the workstream are charged to it, and refused if the remainder is too
 * small.
 */
export function accountOf(store: Store, organization: string, id: string): Account {
  return {
    id: `${accountKind} ${id}`,
    async check(millicents) {
      const workstream = await store.open(WorkstreamCollection, organization).get(id)
      if (workstream) requireBudget(workstream, millicents)
    },
    pay(work: UnitOfWork, millicents: number, booked = 0) {
      const $inc = { spent_millicents: Math.ceil(millicents) - Math.ceil(booked) }
      work.in(WorkstreamCollection, organization).update(id, { $inc }, { optional: true })
    },
  }
}

/** Throws `resource_exhausted` if the remaining budget is smaller. */
export function requireBudget({ slug, spent_millicents, token_budget_millicents }: StoredWorkstream, millicents: number): void {
  if (spent_millicents + millicents <= token_budget_millicents) return
  const message = `The workstream "${slug}" spent ${spent_millicents} of its ${token_budget_millicents} millicents, and this may cost ${Math.ceil(millicents)}; raise token_budget_millicents.`
  throw new AppError("resource_exhausted", message, {
    reason: "workstream_budget_spent",
    spent_millicents,
    budget_millicents: token_budget_millicents,
  })
}

/** Stages an escalation on this day (UTC, YYYY-MM-DD). Throws `resource_exhausted` beyond the budget. */
export function escalated(work: UnitOfWork, organization: string, workstream: StoredWorkstream, day: string): number {
  const { id, slug, escalations, escalation_budget_per_day } = workstream
  const count = escalations.day === day ? escalations.count + 1 : 1
  if (count > escalation_budget_per_day) {
    const message = `The workstream "${slug}" may be escalated ${escalation_budget_per_day} times a day (UTC), and was today.`
    throw new AppError("resource_exhausted", message, { reason: "escalations_spent", budget_per_day: escalation_budget_per_day })
  }
  const where = { "escalations.day": escalations.day, "escalations.count": escalations.count }
  work.in(WorkstreamCollection, organization).update(id, { $set: { escalations: { day, count } } }, { where })
  return count
}
