// Converts a pipeline's document to text, and reports findings with their lines.
import { type Completion, call, type Finding, readDocument, useAnswer, writeDocument } from "#console"
import { completionsAt, type Schema } from "./completion.ts"
import type { Pipeline } from "./pipeline.tsx"

/** Field order for readers. */
const order = [
  "slug",
  "name",
  "state",
  "source_kind",
  "auth_mode",
  "auth_config",
  "purpose",
  "owner_artifact_id",
  "request_schema",
  "transform_js",
  "dedupe",
  "pipeline",
  "handlers",
  "acknowledged_warnings",
] as const
const always: readonly string[] = ["slug", "name", "state", "source_kind", "auth_mode", "pipeline"]

export interface Help {
  readonly schema: Schema | undefined
  readonly lint: (text: string) => Promise<readonly Finding[]>
  readonly complete: (text: string, offset: number) => { readonly from: number; readonly options: readonly Completion[] } | null
}

/** Returns the service's schema and findings for the editor. */
export function useHelp(): Help {
  const schema = useAnswer("pipeline_schema.get").answer?.schema
  return { schema, lint: findingsOf, complete: (text, offset) => completionsAt(schema, text, offset) }
}

/** Returns the document as text, without default values and fields set by the service. */
export function textOf(pipeline: object, schema: Schema): Promise<string> {
  const all = pipeline as Readonly<Record<string, unknown>>
  const given = order.flatMap((name) => {
    const value = name === "auth_config" ? withoutSecret(all[name]) : all[name]
    // Write steps promote the purpose automatically, so a stored purpose is left out.
    if (name === "purpose" && value !== "page_events") return []
    const isDefault = JSON.stringify(value ?? null) === JSON.stringify(schema.properties?.[name]?.default ?? null)
    return (isDefault || isEmpty(value)) && !always.includes(name) ? [] : [[name, value] as const]
  })
  return writeDocument(Object.fromEntries(given))
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

function withoutSecret(config: unknown): unknown {
  const { secret: _, ...rest } = config as Record<string, unknown>
  return rest
}

/** Returns the update that turns the pipeline into the document. Missing fields get their defaults. */
export function changesTo(pipeline: Pipeline, document: Readonly<Record<string, unknown>>, schema: Schema): Record<string, unknown> {
  const stored = pipeline as unknown as Readonly<Record<string, unknown>>
  return Object.fromEntries(
    order.flatMap((name) => {
      if (name === "slug" || (name === "purpose" && !("purpose" in document))) return []
      const fallback = schema.properties?.[name]?.default ?? (name === "acknowledged_warnings" ? [] : null)
      const wanted = document[name] ?? fallback
      const now = name === "auth_config" ? withoutSecret(stored[name]) : stored[name]
      return JSON.stringify(wanted) === JSON.stringify(now ?? null) ? [] : [[name, wanted] as const]
    }),
  )
}

interface Found {
  readonly rule: string
  readonly level: "error" | "warning"
  readonly message: string
  readonly pointer: string
  readonly inside?: { readonly line: number; readonly column: number }
}

/**
 * Returns findings of the service's `validate` with their lines. Returns an empty list if the call fails; the page frame shows
 * the failure.
 */
async function findingsOf(text: string): Promise<readonly Finding[]> {
  const { value, findings, locate } = await readDocument(text)
  if (value === undefined || value === null) return findings
  const answer = await call<{ findings: readonly Found[] }>("event_pipelines.validate", { document: value }).catch(() => undefined)
  return (answer?.findings ?? []).map(({ rule, level, message, pointer, inside }) => ({
    severity: level,
    message: `${message} (${rule})`,
    ...locate(pointer, inside),
  }))
}
