// A row as callers see it.
import { z } from "zod"
import { AnyJson, Timestamp, Uuid } from "#core"

export const RowResource = z.object({
  id: Uuid,
  values: z.record(z.string(), AnyJson),
  created_at: Timestamp,
  updated_at: Timestamp,
})
