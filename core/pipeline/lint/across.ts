// Checks documents against each other: duplicate slugs, and the cross-document rules of plugins.
import { slugOf } from "../../contract/fields.ts"
import type { CrossDocumentRule, LintedDocument } from "../../contract/lint-rule.ts"
import type { PipelineDocument } from "../document.ts"
import { type Finding, finding } from "../findings.ts"
import type { Graph } from "../graph.ts"

/** A file for checks against other files. */
export interface FileAmongOthers {
  readonly path: string
  /** The parsed document. undefined if the text has no document. */
  readonly document: unknown
  /** Graph of a document that compiles. */
  readonly graph: Pick<Graph, "upserts" | "writesTo"> | undefined
}

/** Returns findings for each file, in the order of the files. */
export function findingsAcross(files: readonly FileAmongOthers[], rules: readonly CrossDocumentRule[]): Finding[][] {
  const slugs = new Map<string, string>()
  const found = files.map((file) => twinFinding(file, slugs))
  const linted = files.flatMap((file, index) => {
    const document = lintedOf(file)
    return document ? [{ document, findings: found[index] ?? [] }] : []
  })
  for (const rule of rules) {
    const broken = rule.check(linted.map(({ document }) => document))
    for (const [index, { findings }] of linted.entries()) {
      const one = broken[index]
      if (one) findings.push({ rule: rule.id, level: rule.level, ...one })
    }
  }
  return found
}

function lintedOf({ document, graph }: FileAmongOthers): LintedDocument | undefined {
  if (!graph) return undefined
  const { state, pipeline = [], request_schema = null, acknowledged_warnings: acknowledged = [] } = document as Partial<PipelineDocument>
  return {
    slug: slugIn(document),
    active: state === "active",
    acknowledged,
    request_schema,
    pipeline,
    upserts: graph.upserts,
    writesTo: graph.writesTo,
  }
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
