// Assigns events to sketches, and starts new sketches when documents change.
import { createHash } from "node:crypto"
import type { Json } from "#core"
import { canonicalJson, type PipelineDocument } from "#core/engine"
import type { MergedFields } from "../merged-document.ts"
import { settledBaseline } from "./findings.ts"
import { mergeSketches } from "./merge.ts"
import { type DriftRecord, emptySketch, type Sketch } from "./sketch.ts"

/** Sketch of one node under one document. */
export interface Seen {
  readonly digest: string
  readonly revision: number
  readonly key_id: string
  readonly sketch: Sketch
}

const digests = new WeakMap<PipelineDocument, string>()

/** Returns the digest of all fields that affect accepted events. Renaming or pausing a pipeline does not change the digest. */
export function comparisonDigest(document: PipelineDocument): string {
  const known = digests.get(document)
  if (known !== undefined) return known
  const { name: _n, state: _s, acknowledged_warnings: _w, ...compared } = document
  const digest = createHash("sha256")
    .update(canonicalJson(compared as unknown as Json))
    .digest("hex")
  digests.set(document, digest)
  return digest
}

/** The merged fields of a record. */
type Merged = MergedFields<DriftRecord>

/** A stored record, read-only. */
type Known = Omit<DriftRecord, "id" | "version">

export function mergeSeen(stored: Known | undefined, seen: Seen): Merged {
  const { digest, revision, key_id, sketch } = seen
  if (!stored) return { digest, revision, key_id, baseline: null, current: sketch, told: [] }
  const { baseline, current, told } = stored.key_id === key_id ? stored : withoutValues(stored)
  if (stored.digest === digest)
    return { digest, revision: Math.max(stored.revision, revision), key_id, baseline, current: mergeSketches(current, sketch), told }
  if (revision > stored.revision)
    return { digest, revision, key_id, baseline: settledBaseline(baseline, current), current: sketch, told: [] }
  // Another node has stored the sketch of a newer document.
  const older = mergeSketches(baseline ?? emptySketch(), sketch)
  return { digest: stored.digest, revision: stored.revision, key_id, current, told, baseline: older }
}

/** Returns the sketches to compare for this document. The document may have no events yet. */
export function comparedWith(stored: Known | undefined, digest: string, key_id: string): { baseline: Sketch | null; current: Sketch } {
  if (!stored) return { baseline: null, current: emptySketch() }
  const { baseline, current } = stored.key_id === key_id ? stored : withoutValues(stored)
  if (stored.digest === digest) return { baseline, current }
  return { baseline: settledBaseline(baseline, current), current: emptySketch() }
}

function withoutValues<T extends Pick<DriftRecord, "baseline" | "current">>(stored: T): T {
  const cleared = (sketch: Sketch): Sketch => ({ ...sketch, paths: sketch.paths.map((path) => ({ ...path, values: null })) })
  return { ...stored, baseline: stored.baseline && cleared(stored.baseline), current: cleared(stored.current) }
}
