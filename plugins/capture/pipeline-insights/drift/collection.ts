// The sketch of each pipeline's events, before and since its present document.
import { defineCollection } from "#core"
import type { CountedDocument } from "../merged-document.ts"
import type { Sketch } from "./sketch.ts"

export interface DriftRecord extends CountedDocument {
  /** Of what the comparison is about: a document that says otherwise begins another. */
  digest: string
  revision: number
  /** The master key whose hashes of values these are; under another they say nothing. */
  key_id: string
  baseline: Sketch | null
  current: Sketch
  /** Ids of the differences that were told live. */
  told: string[]
}

/** `id` is the pipeline's. */
export const SchemaSketches = defineCollection<DriftRecord>()({
  name: "event_schema_sketches",
  scope: "organization",
  times: [],
  indexes: [],
  audit: "none",
  statistics: true,
})
