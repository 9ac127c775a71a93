// An observation of an experiment as callers see it.
import { z } from "zod"
import { AnyJson, Timestamp, Uuid } from "#core"
import { observationKinds } from "./collections.ts"

export const ObservationResource = z
  .object({
    id: Uuid,
    kind: z.enum(observationKinds),
    experiment_slug: z.string(),
    variant_key: z.string().describe("Empty where it is of no variant alone."),
    other_variant_key: z.string().describe("Of a comparison: the other variant."),
    judge_slug: z
      .string()
      .describe("`human:<user_id>`, `agent:<credential_id>`, `model:<model>@<prompt version>`, `persona:<slug>` or `live:<metric>`."),
    value: z.number().nullable(),
    reason: z.string(),
    details: z.record(z.string(), AnyJson),
    run_id: z.string().nullable().describe("The panel or tournament that it is of."),
    created_at: Timestamp,
  })
  .meta({ id: "Observation" })
