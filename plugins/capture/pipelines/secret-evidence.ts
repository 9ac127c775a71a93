// Evidence for a rotation: the use of the old secret, and whether it may be ended.
import { z } from "zod"
import { defineExtensionPoint, Timestamp, Uuid } from "#core"
import type { KeptSecret } from "./collections.ts"

/** Counts of the events that one secret verified. */
export interface SecretUse {
  readonly first_at: string
  readonly last_at: string
  readonly events: number
  readonly verified_last_hour: number
  readonly addresses: { address: string; last_at: string; events: number }[]
  readonly more_addresses: boolean
}

/** Returns the use of a pipeline's secrets by their ids. */
export type SecretUseSource = (organization: string, pipelineId: string) => Promise<ReadonlyMap<string, SecretUse>>

export const SecretUseSources = defineExtensionPoint<SecretUseSource>({ id: "event-pipelines.secret-use" })

/** A shorter silence is not evidence. */
const minQuietMs = 600_000
/** Required silence of a secret with at most one verified event, because its usual pause is unknown. */
const unknownQuietMs = 3_600_000
/** A silence of this many usual pauses is unlikely to be chance. */
const pauses = 5

const SecretAddress = z.object({
  address: z.string().describe("A client address, or the network that it is in, as the settings of the service say."),
  last_at: Timestamp,
  events: z.int().describe("Events seen from it; under load, of one event in some the address is looked at."),
})

export const SecretEvidence = z
  .object({
    id: Uuid,
    state: z.enum(["current", "overlapping"]).describe("`overlapping`: rotated, and verifies until `ends_at`."),
    created_at: Timestamp,
    ends_at: Timestamp.nullable(),
    first_verified_at: Timestamp.nullable(),
    last_verified_at: Timestamp.nullable().describe("When it last verified an event; null where it did not in the last 90 days."),
    verified_events: z.int(),
    verified_last_hour: z.int().describe("Events of the last hour that would have failed without it."),
    addresses: z.array(SecretAddress).describe("Where these events came from, the newest first."),
    more_addresses: z.boolean().describe("Whether there were more addresses than are kept."),
    quiet_since: Timestamp.nullable().describe(
      "Of an overlapping secret: since when events verify with the newer one alone, for longer than its pauses were. null while it may still be in use.",
    ),
    may_end: z.boolean().describe("Whether ending it now would have failed no event of the last hour, and it has gone quiet."),
  })
  .meta({ id: "SecretEvidence" })
export type SecretEvidence = z.infer<typeof SecretEvidence>

/** Returns the evidence of all secrets in use, starting with the current secret. */
export function evidenceOf(secrets: readonly KeptSecret[], uses: ReadonlyMap<string, SecretUse>, now: number): SecretEvidence[] {
  const live = secrets.filter(({ ends_at }) => ends_at === null || Date.parse(ends_at) > now)
  const current = live.find(({ ends_at }) => ends_at === null)
  const newer = current && uses.get(current.id)
  return live.map(({ id, ends_at, created_at }) => {
    const use = uses.get(id)
    const quiet_since = ends_at === null ? null : quietSince(use, newer, now)
    const verified_last_hour = use?.verified_last_hour ?? 0
    return {
      id,
      state: ends_at === null ? "current" : "overlapping",
      created_at,
      ends_at,
      first_verified_at: use?.first_at ?? null,
      last_verified_at: use?.last_at ?? null,
      verified_events: use?.events ?? 0,
      verified_last_hour,
      addresses: use?.addresses ?? [],
      more_addresses: use?.more_addresses ?? false,
      quiet_since,
      may_end: quiet_since !== null && verified_last_hour === 0,
    }
  })
}

function quietSince(old: SecretUse | undefined, newer: SecretUse | undefined, now: number): string | null {
  if (!newer) return null
  if (!old) return now - Date.parse(newer.first_at) >= unknownQuietMs ? newer.first_at : null
  if (newer.last_at <= old.last_at) return null
  const last = Date.parse(old.last_at)
  const pause = old.events > 1 ? (last - Date.parse(old.first_at)) / (old.events - 1) : undefined
  const enough = pause === undefined ? unknownQuietMs : Math.max(minQuietMs, pauses * pause)
  return now - last >= enough ? old.last_at : null
}
