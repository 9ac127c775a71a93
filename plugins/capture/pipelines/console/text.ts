// A pipeline's document as text, and what the service finds in one, at its lines.
import { type Completion, call, type Finding, readDocument, useAnswer, writeDocument } from "#console"
import { completionsAt, type Schema } from "./completion.ts"
import type { Pipeline } from "./pipeline.tsx"

/** In the order in which people read them. */
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

/** For the editor: the service's own schema and findings. */
export function useHelp(): Help {
  const schema = useAnswer("pipeline_schema.get").answer?.schema
  return { schema, lint: findingsOf, complete: (text, offset) => completionsAt(schema, text, offset) }
}

/** Fields as they are by default are left out, and what only the service sets. */
export function textOf(pipeline: object, schema: Schema): Promise<string> {
  const all = pipeline as Readonly<Record<string, unknown>>
  const given = order.flatMap((name) => {
    const value = name === "auth_config" ? withoutSecret(all[name]) : all[name]
    // A pipeline that writes is promoted by itself.
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

/** The changes that make the pipeline what the text says; a field that is left out is as it is by default. */
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

/** What the service's own `validate` says, each at its line. Nothing where it cannot be asked, which the frame says. */
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
