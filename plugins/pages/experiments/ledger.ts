// The ledger: every piece of evidence is an observation, appended and never changed, and told on the live channel.
import { type Caller, Clock, callerKind, type Deps, defineChannel, Ids, type Json, Live, timestamp, token, type UnitOfWork } from "#core"
import { ObservationCollection, type StoredExperiment, type StoredObservation } from "./collections.ts"

export const experimentsChannel = defineChannel({
  name: "experiments",
  scope: "experiments:read",
  summary: "Each observation on an experiment's ledger, and how far panels and tournaments are.",
})

export interface NewObservation extends Pick<StoredObservation, "kind" | "judge_slug"> {
  /** Derived where the same observation may be staged twice; the second is then the same one. */
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
    add(work, organization, { id: experiment_id, slug: experiment_slug }, given) {
      const observation: StoredObservation = {
        id: given.id ?? ids.uuid(),
        kind: given.kind,
        experiment_id,
        experiment_slug,
        variant_key: given.variant_key ?? "",
        other_variant_key: given.other_variant_key ?? "",
        judge_slug: given.judge_slug,
        value: given.value ?? null,
        reason: given.reason ?? "",
        details: given.details ?? {},
        run_id: given.run_id ?? null,
        created_at: timestamp(clock.now()),
      }
      work.in(ObservationCollection, organization).insert(observation, { ifPresent: given.id === undefined ? "fail" : "keep" })
      live.stage(work, organization, { channel: experimentsChannel.name, event: "observation", data: shownObservation(observation) })
      return observation
    },
  }
}

/** As callers see it. */
export function shownObservation({ experiment_id: _experiment, organization_id: _organization, ...shown }: StoredObservation) {
  return { ...shown }
}

/** Returns the judge of a caller: a person by the user, an agent by its credential. Undefined for a service. */
export function judgeOf(caller: Caller): string | undefined {
  const kind = callerKind(caller)
  if (kind === "agent") return `agent:${caller.credential.id}`
  return kind === "person" && caller.user ? `human:${caller.user.id}` : undefined
}
