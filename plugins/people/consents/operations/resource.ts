// What answers show of the ledger, and the fields that inputs share.
import { z } from "zod"
import { AnyJson, Timestamp, Uuid } from "#core"
import { type ConsentEntry, entryKinds, entrySources, everyChannel, everyPurpose } from "../collections.ts"
import { channels } from "../person.ts"

export const Purpose = z
  .string()
  .trim()
  .min(1)
  .max(60)
  .regex(/^[a-z0-9]+(?:[_-][a-z0-9]+)*$/, "lower-case letters, digits, - and _, such as marketing")

export const LedgerChannel = z.enum([everyChannel, ...channels]).describe("`all`: every one that the address or number has.")

export const Consent = z
  .object({
    id: Uuid,
    address: z.string().describe("Mail address, or number in E.164."),
    kind: z.enum(entryKinds),
    channel: LedgerChannel,
    purpose: z.string().describe(`\`${everyPurpose}\`: every one.`),
    source: z.enum(entrySources),
    wording: z.string().describe("What the person was asked, or said."),
    evidence: z.record(z.string(), AnyJson),
    at: Timestamp.describe("When the person said it."),
    recorded_at: Timestamp,
    recorded_by: z.string().describe("The credential that recorded it."),
  })
  .meta({ id: "Consent" })

export function shown(entry: ConsentEntry): z.input<typeof Consent> {
  const { id, address, kind, channel, purpose, source, wording, evidence, at, recorded_at, recorded_by } = entry
  return { id, address, kind: kind as never, channel: channel as never, purpose, source, wording, evidence, at, recorded_at, recorded_by }
}
