// The ledger: each piece of evidence is an immutable observation. New observations are sent to the live channel.
import {
  AppError,
  type Caller,
  Clock,
  callerKind,
  type Deps,
  defineChannel,
  Ids,
  type Json,
  Live,
  timestamp,
  token,
  type UnitOfWork,
} from "#core"
import { ObservationCollection, type StoredExperiment, type StoredObservation } from "./collections.ts"

export const experimentsChannel = defineChannel({
  name: "experiments",
  scope: "experiments:read",
  summary: "Each observation on an experiment's ledger, and how far panels and tournaments are.",
})

export interface NewObservation extends Pick<StoredObservation, "kind" | "judge_slug"> {
  /** A derived id makes an observation unique if it may be staged twice. */
  readonly id?: string
  readonly variant_key?: string
  readonly other_variant_key?: string
  readonly value?: number | null
  readonly reason?: string
  readonly details?: Record<string, Json>
  readonly run_id?: string | null
}

export interface Ledger {
  /** Stages an observation. */
  add(work: UnitOfWork, organization: string, experiment: StoredExperiment, observation: NewObservation): StoredObservation
}

export const Ledger = token<Ledger>("Ledger")
export const ledgerNeeds = { clock: Clock, ids: Ids, live: Live }

export function createLedger({ clock, ids, live }: Deps<typeof ledgerNeeds>): Ledger {
  return {
    add(work, organization, { id: experiment_id, slug: experiment_slug }, input) {
      const observation: StoredObservation = {
        id: input.id ?? ids.uuid(),
        kind: input.kind,
        experiment_id,
        experiment_slug,
        variant_key: input.variant_key ?? "",
        other_variant_key: input.other_variant_key ?? "",
        judge_slug: input.judge_slug,
        value: input.value ?? null,
        reason: input.reason ?? "",
        details: input.details ?? {},
        run_id: input.run_id ?? null,
        created_at: timestamp(clock.now()),
      }
      work.in(ObservationCollection, organization).insert(observation, { ifPresent: input.id === undefined ? "fail" : "keep" })
      live.stage(work, organization, { channel: experimentsChannel.name, event: "observation", data: toObservationResource(observation) })
      return observation
    },
  }
}

/** Returns the observation for callers. */
export function toObservationResource({ experiment_id: _experiment, organization_id: _organization, ...resource }: StoredObservation) {
  return { ...resource }
}

/** Returns the judge of a caller: a person by the user, an agent by its credential. Undefined for a service. */
export function judgeOf(caller: Caller): string | undefined {
  const kind = callerKind(caller)
  if (kind === "agent") return `agent:${caller.credential.id}`
  return kind === "person" && caller.user ? `human:${caller.user.id}` : undefined
}

interface ToldFailure {
  readonly message: string
  /** The error's registered reason. */
  readonly reason: string
}

/** Returns a failure for the ledger: the message of an AppError. Messages of other errors are internal. */
export function describeFailure(error: unknown): ToldFailure {
  if (!(error instanceof AppError)) return { message: "The service failed.", reason: "internal" }
  return { message: error.message, reason: String(error.details.reason ?? error.code) }
}

// Reads the ledger. Applies corrections: a corrected observation has the correction's value, or does not count. Pure.

export interface CountedObservation extends StoredObservation {
  readonly corrected: boolean
}

/** Returns the corrected observations without the corrections, in order. A correction may itself be corrected. */
export function counted(observations: readonly StoredObservation[]): CountedObservation[] {
  const targets = new Map(
    observations.flatMap((observation) => (isCorrection(observation) ? [[observation.id, String(observation.details["corrects"])]] : [])),
  )
  const last = new Map<string, StoredObservation>()
  const inOrder = observations.filter(isCorrection).sort((left, right) => (left.id < right.id ? -1 : 1))
  for (const correction of inOrder) last.set(rootOf(correction.id, targets), correction)
  return observations.flatMap((observation): CountedObservation[] => {
    if (isCorrection(observation)) return []
    const correction = last.get(observation.id)
    if (!correction) return [{ ...observation, corrected: false }]
    return correction.details["counts"] === true ? [{ ...observation, value: correction.value, corrected: true }] : []
  })
}

export function isCorrection({ details }: Pick<StoredObservation, "details">): boolean {
  return typeof details["corrects"] === "string"
}

function rootOf(id: string, targets: ReadonlyMap<string, string>): string {
  let root = id
  for (let target = targets.get(root); target !== undefined; target = targets.get(root)) root = target
  return root
}

/** Returns the latest observation; the first of several with the same time. */
export function newest<T extends { readonly created_at: string }>(all: readonly T[]): T | undefined {
  return all.reduce<T | undefined>((last, entry) => (last && last.created_at >= entry.created_at ? last : entry), undefined)
}
