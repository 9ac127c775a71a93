// Reports schema drift to operations and plans.
import { type Deps, type Json, Store, token, Vault } from "#core"
import type { PipelineDocument } from "#core/engine"
import type { PlanNote } from "../../pipeline-files/index.ts"
import type { PipelineRecord } from "../../pipelines/index.ts"
import { comparedWith, comparisonDigest } from "./comparison.ts"
import { type Drift, driftOf } from "./findings.ts"
import { type Operation, patched, patchOf } from "./patch.ts"
import { SchemaPlaces } from "./schema-places.ts"
import { type DriftRecord, SchemaSketches, type Sketch } from "./sketch.ts"
import { Sketcher } from "./sketcher.ts"

export interface DriftReport {
  readonly baseline: Sketch | null
  readonly current: Sketch
  readonly drift: readonly Drift[]
}

export interface SchemaDriftService {
  of(organization: string, pipeline: Pick<PipelineRecord, "id" | "document">): Promise<DriftReport>
  /** Compares the pipeline's events with another schema. */
  against(organization: string, pipeline: Pick<PipelineRecord, "id" | "document">, schema: Json): Promise<Drift[]>
}

export const SchemaDrift = token<SchemaDriftService>("SchemaDrift")

export const driftNeeds = { store: Store, vault: Vault, sketcher: Sketcher }

const maxNoted = 5

export function schemaDrift({ store, vault, sketcher }: Deps<typeof driftNeeds>): SchemaDriftService {
  const compared = async (organization: string, { id, document }: Pick<PipelineRecord, "id" | "document">) => {
    await sketcher.flush()
    const stored: DriftRecord | undefined = await store.open(SchemaSketches, organization).get(id)
    return { ...comparedWith(stored, comparisonDigest(document), vault.keyId), hash: sketcher.hashOf(id) }
  }
  return {
    async of(organization, pipeline) {
      const { hash, ...sketches } = await compared(organization, pipeline)
      return { ...sketches, drift: driftOf({ schema: pipeline.document.request_schema as Json, ...sketches, hash }) }
    },
    async against(organization, pipeline, schema) {
      return driftOf({ schema, ...(await compared(organization, pipeline)) })
    },
  }
}

/** Warns of drift that remains with a planned document. */
export function driftNotes({ drift }: { readonly drift: SchemaDriftService }): PlanNote {
  return async (organization, pipeline, { request_schema }) => {
    const found = await drift.against(organization, pipeline, request_schema as Json)
    const left = found.filter(({ kind, rejected }) => rejected > 0 || kind === "new_field" || kind === "type_changed")
    const said = left
      .slice(0, maxNoted)
      .map(({ message, since, events }) => `${message} Since ${since}, ${events} ${events === 1 ? "event" : "events"}.`)
    if (left.length === 0) return []
    const more = left.length > maxNoted ? ` And ${left.length - maxNoted} more.` : ""
    return [
      `schema-drift: events differ from what they were. ${said.join(" ")}${more} See \`millrace event-pipelines drift ${pipeline.slug}\`.`,
    ]
  }
}

/** Returns the document with a fitting schema. Applies the differences that have a schema patch. */
export function mend(document: PipelineDocument, drift: readonly Drift[]): { document: PipelineDocument; patch: Operation[] } {
  let mended = document as unknown as Json
  const patch: Operation[] = []
  for (const one of drift) {
    if (one.patch.length === 0) continue
    const schema = (mended as { request_schema: Json }).request_schema
    const operations = patchOf({ ...one, place: new SchemaPlaces(schema).of(one.path), schema, explains: true })
    mended = patched(mended, operations)
    patch.push(...operations)
  }
  return { document: mended as unknown as PipelineDocument, patch }
}
