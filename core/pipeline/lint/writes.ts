// Lints the writes of a pipeline: dataset slugs, row identity and purpose. Row identity must survive repeated events and list
// edits.
import { isUuid } from "../../kernel/ids.ts"
import type { AuthFacts, CompileEnvironment } from "../compile/environment.ts"
import type { Report } from "../compile/report.ts"
import type { Draft } from "../compile/steps.ts"
import type { PipelineDocument } from "../document.ts"
import { childPointer } from "../findings.ts"

export interface Writes {
  readonly datasets: readonly string[]
  readonly upserts: readonly { readonly dataset: string; readonly key: string }[]
}

interface Write {
  readonly draft: Draft
  readonly datasets: readonly string[]
  readonly key: string | undefined
}

export function lintWrites(
  drafts: readonly Draft[],
  document: PipelineDocument,
  facts: AuthFacts | undefined,
  environment: CompileEnvironment,
  report: Report,
): Writes {
  const writes = drafts.flatMap((draft) => writeOf(draft, report) ?? [])
  for (const write of writes) {
    for (const dataset of write.datasets) lintSlug(dataset, write.draft, environment.organizationSlug, report)
    if (write.key === undefined) lintUnkeyed(write, document, facts, report)
  }
  const unsound = drafts.some((draft) => !draft.config || draft.config.parsed === undefined)
  if (document.purpose === "record_capture" && writes.length === 0 && !unsound) {
    report.add("purpose-without-write", "/purpose", 'The purpose "record_capture" needs an action that writes to a dataset.')
  }
  const upserts = writes.flatMap(({ datasets, key }) => (key === undefined ? [] : datasets.map((dataset) => ({ dataset, key }))))
  return { datasets: [...new Set(writes.flatMap((write) => write.datasets))], upserts: unique(upserts) }
}

function writeOf(draft: Draft, report: Report): Write | undefined {
  const parsed = draft.config?.parsed
  if (!draft.action || parsed === undefined) return undefined
  try {
    const datasets = draft.action.writesTo?.(parsed) ?? []
    return datasets.length > 0 ? { draft, datasets, key: draft.action.keyedBy?.(parsed) } : undefined
  } catch (error) {
    report.add("invalid-field", draft.pointer, `"${draft.type}" cannot tell what it writes to: ${(error as Error).message}`)
    return undefined
  }
}

function lintSlug(dataset: string, draft: Draft, organization: string | undefined, report: Report): void {
  const field = draft.common && fieldHolding(draft, dataset)
  const pointer = field === undefined ? draft.pointer : childPointer(draft.pointer, field)
  if (isUuid(dataset.toLowerCase())) {
    report.add("invalid-field", pointer, `"${dataset}" is a UUID; a dataset is named by its slug. GET /v1/datasets lists slugs.`)
    return
  }
  const dot = dataset.indexOf(".")
  const owner = dataset.slice(0, dot)
  if (dot > 0 && organization !== undefined && owner !== organization) {
    report.add(
      "foreign-dataset",
      pointer,
      `"${dataset}" belongs to "${owner}"; a pipeline of "${organization}" writes to its own datasets.`,
    )
  }
}

function fieldHolding(draft: Draft, value: string): string | undefined {
  const parsed = draft.config?.parsed as Record<string, unknown> | undefined
  return Object.keys(parsed ?? {}).find((key) => parsed?.[key] === value)
}

function lintUnkeyed({ draft, datasets }: Write, document: PipelineDocument, facts: AuthFacts | undefined, report: Report): void {
  if (facts?.retries && document.dedupe === null) {
    const message = `A repeat of the event adds another row to "${datasets.join('", "')}". Give it a "key", or the pipeline a "dedupe".`
    report.add("write-without-stable-key", draft.pointer, message)
  }
  if (!draft.named) {
    const message = 'Rows without a key take their identity from the step\'s id, which moves when the list is edited. Give it an "id".'
    report.add("unkeyed-write-without-id", draft.pointer, message)
  }
}

function unique(upserts: Writes["upserts"]): Writes["upserts"] {
  const seen = new Map(upserts.map((upsert) => [`${upsert.dataset}\n${upsert.key}`, upsert]))
  return [...seen.values()]
}
