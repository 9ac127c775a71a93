// The split-leads warning (specification 4.18): leads of one customer that land in several datasets, because pipelines
// that upsert by email write to different ones. The save goes on.
import type { PipelineRecord } from "./collections.ts"

const emailColumn = /^(e[-_]?mail|email[-_]?address|lead[-_]?email|contact[-_]?email)$/i

export interface LeadCapture {
  readonly slug: string
  readonly upserts: readonly { readonly dataset: string; readonly key: string }[]
  /** Qualified names. */
  readonly targets: readonly string[]
}

export function splitLeadsWarning(
  saved: LeadCapture,
  others: readonly Pick<PipelineRecord, "slug" | "write_target_datasets">[],
): string | undefined {
  const byEmail = saved.upserts.filter(({ key }) => emailColumn.test(key)).map(({ dataset }) => dataset)
  if (byEmail.length === 0) return undefined
  const own = new Set(saved.targets)
  const split = others.flatMap((other) =>
    other.write_target_datasets.filter((target) => !own.has(target)).map((target) => ({ pipeline: other.slug, target })),
  )
  if (split.length === 0) return undefined
  const listed = split.slice(0, 5).map(({ pipeline, target }) => `"${pipeline}" to ${target}`)
  const suffixed = split.find(({ target }) => byEmail.some((slug) => differsBySuffix(bare(target), bare(slug))))
  const hint = suffixed ? ` ${suffixed.target} looks like the same dataset with a collision suffix.` : ""
  return (
    `split-leads-dataset: "${saved.slug}" upserts leads by email into ${byEmail.join(", ")}, while other active lead-capture pipelines write elsewhere: ${listed.join(", ")}.` +
    `${hint} Point every lead-capture pipeline of one customer at one dataset, or disable the stale ones.`
  )
}

function bare(target: string): string {
  return target.slice(target.indexOf(".") + 1)
}

function differsBySuffix(a: string, b: string): boolean {
  const stem = (slug: string) => slug.replace(/-\d+$/, "")
  return a !== b && stem(a) === stem(b)
}
