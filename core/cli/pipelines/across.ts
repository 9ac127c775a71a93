// What is wrong with files only beside each other: two of one slug, and leads that go to several datasets.

import { slugOf } from "../../contract/fields.ts"
import type { PipelineDocument } from "../../pipeline/document.ts"
import type { Finding } from "../../pipeline/findings.ts"
import type { Graph } from "../../pipeline/graph.ts"
import { finding } from "../../pipeline/lint/finding.ts"
import { bareDataset, type LeadCapture, leadDatasets, leadTargets, splitLeadsWarning } from "../../pipeline/lint/split-leads.ts"
import { childPointer } from "../../pipeline/pointer.ts"

export interface FileAmongOthers {
  readonly path: string
  /** As it was read; undefined where the text is none. */
  readonly document: unknown
  /** What a document that compiles became. */
  readonly graph: Pick<Graph, "upserts" | "writesTo"> | undefined
}

/** Findings for each file, in the order of the files. */
export function findingsAcross(files: readonly FileAmongOthers[]): Finding[][] {
  const slugs = new Map<string, string>()
  const captures = files.map(captureOf)
  return files.map((file, index) => [...twinFinding(file, slugs), ...splitFinding(file, captures[index], captures)])
}

interface Capture extends LeadCapture {
  readonly active: boolean
}

/** A document that upserts by an email column captures leads; its other datasets hold something else. */
function captureOf({ document, graph }: FileAmongOthers): Capture | undefined {
  if (!graph) return undefined
  const { state } = document as Partial<PipelineDocument>
  const written = { slug: slugIn(document), upserts: graph.upserts, targets: graph.writesTo.map(bareDataset) }
  const targets = leadTargets(written)
  return targets.length === 0 ? undefined : { ...written, targets, active: state === "active" }
}

function splitFinding({ document }: FileAmongOthers, own: Capture | undefined, all: readonly (Capture | undefined)[]): Finding[] {
  if (!own) return []
  const others = all.filter((other) => other !== undefined && other !== own && other.active && other.slug !== own.slug)
  const warning = splitLeadsWarning(own, others as Capture[])
  if (!warning) return []
  return [finding(warning.rule, pointerOf(document as PipelineDocument, leadDatasets(own)[0]), warning.message)]
}

/** The field of the first step that names the dataset. */
function pointerOf({ pipeline }: Pick<PipelineDocument, "pipeline">, dataset: string | undefined): string {
  for (const [index, step] of pipeline.entries()) {
    const field = Object.keys(step).find((key) => step[key] === dataset)
    if (field !== undefined) return childPointer(childPointer("/pipeline", index), field)
  }
  return "/pipeline"
}

function twinFinding({ path, document }: FileAmongOthers, slugs: Map<string, string>): Finding[] {
  const slug = slugIn(document)
  if (slug === "") return []
  const other = slugs.get(slug)
  if (other === undefined) {
    slugs.set(slug, path)
    return []
  }
  const pointer = typeof (document as { slug?: unknown }).slug === "string" ? "/slug" : "/name"
  return [finding("invalid-field", pointer, `The slug "${slug}" is that of ${other} already; give one of them a "slug" of its own.`)]
}

function slugIn(document: unknown): string {
  const { slug, name } = (document ?? {}) as { slug?: unknown; name?: unknown }
  if (typeof slug === "string") return slug
  return typeof name === "string" ? slugOf(name, "pipeline") : ""
}
