// The compiler turns a document into a graph, or into findings for all its problems. It is pure apart from its environment. It
// throws only `unavailable`, if the sandbox cannot compile now.

import { createHash } from "node:crypto"
import { setImmediate as nextTurn } from "node:timers/promises"
import { z } from "zod"
import type { AnyAction } from "../contract/action.ts"
import { canonicalJson } from "../kernel/json.ts"
import { buildStep } from "./compile/build.ts"
import { type CheckedDocument, checkDocument, rawActions } from "./compile/document-fields.ts"
import type { AuthFacts, CompileEnvironment } from "./compile/environment.ts"
import { type Ordering, order } from "./compile/order.ts"
import { compileProgram } from "./compile/program.ts"
import { Report } from "./compile/report.ts"
import { checkSource } from "./compile/source.ts"
import { type Draft, holdsManyTemplates, StepDrafts } from "./compile/steps.ts"
import type { Dedupe, PipelineDocument } from "./document.ts"
import type { Compilation } from "./engine.ts"
import { childPointer, formerRuleIds } from "./findings.ts"
import type { Graph, Step } from "./graph.ts"
import { type EventFields, eventFieldsOf, lintEventReads } from "./lint/event-fields.ts"
import { lintChannels, lintHandlers, lintResponds } from "./lint/flow.ts"
import { lintDeadlines, lintDedupeCover } from "./lint/provider.ts"
import { lintDedupeReads, lintReads } from "./lint/reads.ts"
import { lintRequestSchema } from "./lint/request-schema.ts"
import { lintWrites, type Writes } from "./lint/writes.ts"
import { type ParseOptions, parseText } from "./parse.ts"
import { textOf } from "./template/liquid.ts"
import { compileJson, type PlacedRead } from "./template.ts"

export { type AuthFacts, type CompileEnvironment, declared, type Named } from "./compile/environment.ts"

/** Compiles a document from JSON or from `parseText`. Pass `locate` in the environment for line numbers. */
export async function compile(given: unknown, environment: CompileEnvironment): Promise<Compilation> {
  const report = new Report(environment.locate)
  const checked = checkDocument(given, report)
  if (!checked) return { ok: false, findings: report.findings }
  report.acknowledged = new Set(checked.document.acknowledged_warnings?.map((rule) => formerRuleIds[rule] ?? rule))
  const programming = compileProgram(checked, environment, report)
  // Prevents an unhandled rejection. The promise is awaited below, after its own turn.
  programming.catch(() => {})
  if (checked.sound("request_schema")) lintRequestSchema(checked.document.request_schema, report)
  const facts = checkSource(checked, environment, report)
  const { drafts, handlers } = await draftsOf(checked, environment, report)
  const ordering = order(drafts, report)
  const deferred = withHandlers(ordering, drafts, handlers)
  const dedupe = checked.document.dedupe && checked.sound("dedupe") ? compileDedupe(checked.document.dedupe, report) : undefined
  const program = await programming
  const dedupeReads = dedupe?.reads ?? []
  const fields = eventFieldsOf(checked.document, program?.fields ?? null)
  const writes = lint({ checked, drafts, handlers, ordering, deferred, facts, dedupeReads, fields }, environment, report)
  const steps = new Map<string, Step>()
  for (const draft of [...ordering.sorted, ...handlers]) {
    const step = buildStep(draft, ordering.needs.get(draft.id) ?? [], deferred.has(draft.id))
    if (step) steps.set(step.id, step)
  }
  if (report.hasErrors || !program) return { ok: false, findings: report.findings }
  const reads = [...drafts, ...handlers].flatMap((draft) => draft.reads).concat(dedupeReads)
  const inList = ordering.sorted.flatMap((draft) => steps.get(draft.id) ?? [])
  const graph: Graph = {
    digest: digestOf(checked.document, actionsOf(steps)),
    immediate: inList.filter((step) => !step.deferred),
    deferred: inList.filter((step) => step.deferred),
    handlers: new Map(handlers.flatMap(({ id }) => (steps.has(id) ? [[id, steps.get(id) as Step] as const] : []))),
    byId: steps,
    dedupe: dedupe?.dedupe ?? null,
    reads: { payload: readsRoot(reads, "payload"), query: readsRoot(reads, "query"), headers: readsRoot(reads, "headers") },
    writesTo: writes.datasets,
    upserts: writes.upserts,
  }
  return { ok: true, graph, program, findings: report.findings, reads }
}

/** Parses and compiles the text of a file. Returns the parsed value as `document`, for storage. */
export async function compileText(
  text: string,
  environment: CompileEnvironment,
  options: ParseOptions = {},
): Promise<{ compilation: Compilation; document: unknown }> {
  const { value, findings, locate } = parseText(text, options)
  if (value === undefined) return { compilation: { ok: false, findings }, document: undefined }
  const compilation = await compile(value, { ...environment, locate })
  const all = [...findings, ...compilation.findings].sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0))
  const refused = findings.some((found) => found.level === "error")
  return { compilation: refused ? { ok: false, findings: all } : { ...compilation, findings: all }, document: value }
}

/** Yields to the event loop after each step with many templates. */
async function draftsOf(
  { document }: CheckedDocument,
  environment: CompileEnvironment,
  report: Report,
): Promise<{ drafts: Draft[]; handlers: Draft[] }> {
  const making = new StepDrafts(environment, report)
  const listed = rawActions(
    document.pipeline.map((action, index) => [childPointer("/pipeline", index), action] as const),
    report,
  )
  const seen = new Map<string, Draft>()
  const all: Draft[] = []
  for (const raw of listed) {
    all.push(making.counted(raw))
    if (holdsManyTemplates(raw)) await nextTurn()
  }
  const drafts = all.map((draft) => distinct(draft, seen, report))
  const handled: Draft[] = []
  for (const [id, action] of Object.entries(document.handlers)) {
    const pointer = childPointer("/handlers", id)
    checkHandlerId(id, pointer, action, report)
    for (const raw of rawActions([[pointer, action]], report)) {
      handled.push(making.make(raw, id))
      if (holdsManyTemplates(raw)) await nextTurn()
    }
  }
  // A handler keeps its id, because steps refer to it in "on_error".
  for (const handler of handled) distinct(handler, seen, report)
  return { drafts, handlers: handled }
}

/** Renames a duplicate draft to an id that is impossible in a document. The compiler can then check the rest of it. */
function distinct(draft: Draft, seen: Map<string, Draft>, report: Report): Draft {
  const earlier = seen.get(draft.id)
  if (!earlier) {
    seen.set(draft.id, draft)
    return draft
  }
  const message = `The id "${draft.id}" is taken by the action at ${earlier.pointer}; ids are unique among steps and handlers.`
  report.add("duplicate-id", draft.common.id === undefined ? draft.pointer : childPointer(draft.pointer, "id"), message)
  return { ...draft, id: `${draft.id} (${draft.pointer})` }
}

function checkHandlerId(id: string, pointer: string, action: unknown, report: Report): void {
  if (!/^[a-z][a-z0-9_]{0,63}$/.test(id) || id === "fail" || id === "continue") {
    report.add("invalid-field", pointer, `"${id}" cannot name a handler: lower-case letters, digits and _, not "fail" or "continue".`)
  }
  const own = (action as { id?: unknown } | null)?.id
  if (own !== undefined && own !== id) report.add("invalid-field", childPointer(pointer, "id"), `This handler's id is "${id}", its key.`)
}

/** A handler is deferred if its own action is deferred, or if any step that uses it is. */
function withHandlers(ordering: Ordering, drafts: readonly Draft[], handlers: readonly Draft[]): ReadonlySet<string> {
  const deferred = new Set(ordering.deferred)
  for (const handler of handlers) {
    const serves = drafts.filter((draft) => draft.common.on_error === handler.id)
    const own = handler.action?.timing === "deferred" && !handler.common.await
    if (own || serves.some((draft) => ordering.deferred.has(draft.id))) deferred.add(handler.id)
  }
  return deferred
}

interface Linted {
  readonly checked: CheckedDocument
  readonly drafts: readonly Draft[]
  readonly handlers: readonly Draft[]
  readonly ordering: Ordering
  readonly deferred: ReadonlySet<string>
  readonly facts: AuthFacts | undefined
  readonly dedupeReads: readonly PlacedRead[]
  readonly fields: EventFields
}

function lint(linted: Linted, environment: CompileEnvironment, report: Report): Writes {
  const { checked, drafts, handlers, ordering, deferred, facts, dedupeReads, fields } = linted
  const all = [...drafts, ...handlers]
  const byId = new Map([...handlers, ...drafts].map((draft) => [draft.id, draft]))
  for (const draft of all) {
    lintReads(draft, { byId, visible: (one) => visibleTo(one, linted) }, report)
    lintByAction(draft, linted, environment, report)
  }
  const reads = all.flatMap((draft) => draft.reads).concat(dedupeReads)
  lintEventReads(reads, fields, environment.saved === true, report)
  lintHandlers(drafts, handlers, report)
  lintResponds(drafts, handlers, { deferred, needs: ordering.needs }, report)
  lintChannels(all, environment.channels ?? [], report)
  lintDedupeReads(dedupeReads, report)
  lintDedupeCover(dedupeReads, facts, report)
  lintDeadlines(ordering, facts, report)
  return lintWrites(all, checked.document, facts, environment, report)
}

/** A handler sees everything its steps see, and the steps themselves. */
function visibleTo(draft: Draft, { ordering, drafts, handlers }: Linted): ReadonlySet<string> | undefined {
  if (ordering.sorted.length === 0) return undefined
  if (!handlers.includes(draft)) return ordering.ancestors.get(draft.id)
  const serves = drafts.filter((one) => one.common.on_error === draft.id)
  return new Set(serves.flatMap((one) => [one.id, ...(ordering.ancestors.get(one.id) ?? [])]))
}

/** The fields of an element in `for_each` are unknown. */
function lintByAction(draft: Draft, { fields, checked }: Linted, { saved }: CompileEnvironment, report: Report): void {
  const parsed = draft.config?.parsed
  if (!draft.action?.lint || parsed === undefined) return
  const event = draft.common.for_each === undefined ? fields.event : undefined
  try {
    for (const { rule, level, message, field } of draft.action.lint(parsed, event, checked.document)) {
      report.push({
        rule,
        level: saved ? "warning" : level,
        message,
        pointer: field === undefined ? draft.pointer : childPointer(draft.pointer, field),
      })
    }
  } catch (error) {
    report.add("invalid-field", draft.pointer, `"${draft.type}" cannot check this action: ${(error as Error).message}`)
  }
}

function actionsOf(steps: ReadonlyMap<string, Step>): Step["action"][] {
  return [...new Set([...steps.values()].map((step) => step.action))]
}

function readsRoot(reads: readonly PlacedRead[], root: string): boolean {
  return reads.some((read) => read.root === root)
}

interface CompiledDedupe {
  readonly dedupe: NonNullable<Graph["dedupe"]>
  readonly reads: readonly PlacedRead[]
}

const unitMs: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/**
 * Compiles the dedupe key. The key is rendered before schema and transform. It can read only the parsed body, the query, the
 * headers and the values from the auth mode.
 */
function compileDedupe(given: z.infer<typeof Dedupe>, report: Report): CompiledDedupe | undefined {
  const pointer = "/dedupe/key"
  const { evaluate, reads, problems } = compileJson(given.key, pointer)
  for (const problem of problems) report.add("invalid-template", pointer, problem.message)
  if (problems.length > 0) return undefined
  if (!evaluate || reads.length === 0) {
    report.add("constant-dedupe-key", pointer, "This key is the same for every event, so only the first would run. Use a template.")
    return undefined
  }
  return { dedupe: { key: (scope) => textOf(evaluate(scope)), windowMs: windowMsOf(given.window) }, reads }
}

/** A number is in seconds. A text is a number with a unit. */
function windowMsOf(window: string | number): number {
  if (typeof window === "number") return window * 1_000
  return Number(window.slice(0, -1)) * (unitMs[window.slice(-1)] ?? 1_000)
}

/**
 * Returns the SHA-256 digest of a pipeline. It covers the canonical JSON (key order of RFC 8785) of the document, without the
 * secret, and the config schemas of its action types. Equal documents have equal digests, in any spelling.
 */
function digestOf(document: PipelineDocument, actions: readonly AnyAction[]): string {
  const { secret: _secret, ...auth_config } = document.auth_config
  const versions = Object.fromEntries(actions.map((action) => [action.type, versionOf(action)]))
  return sha256(canonicalJson({ document: { ...document, auth_config }, versions }))
}

const versions = new WeakMap<AnyAction, string>()

function versionOf(action: AnyAction): string {
  const known = versions.get(action)
  if (known !== undefined) return known
  const schema = z.toJSONSchema(action.config, { io: "input", unrepresentable: "any" })
  const version = sha256(canonicalJson([action.timing, schema]))
  versions.set(action, version)
  return version
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex")
}
