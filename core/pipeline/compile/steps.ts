// Turns actions into drafts of steps: the action type, compiled fields and templates. Drafts do not depend on each other.
import type { AnyAction } from "../../contract/action.ts"
import { didYouMean } from "../../kernel/guess.ts"
import { CommonActionFields } from "../document.ts"
import { childPointer } from "../findings.ts"
import { type Compiled, compileExpression, type PlacedRead } from "../template.ts"
import { type CompiledConfig, compileConfig, schemaProblems } from "./config.ts"
import { commonFieldNames, type RawAction } from "./document-fields.ts"
import type { CompileEnvironment } from "./environment.ts"
import type { Report } from "./report.ts"

export interface Draft {
  readonly id: string
  readonly index: number
  readonly pointer: string
  /** Type as written. The action may be unknown. */
  readonly type: string
  readonly action: AnyAction | undefined
  readonly named: boolean
  readonly common: Partial<CommonActionFields>
  readonly config: CompiledConfig | undefined
  readonly when: Extract<Compiled<unknown>, { ok: true }> | undefined
  readonly forEach: Extract<Compiled<unknown>, { ok: true }> | undefined
  /** Reads of the config, `when` and `for_each`. */
  readonly reads: readonly PlacedRead[]
}

const commonFields = Object.entries(CommonActionFields.shape)
/** Fields without a default. */
const optionalFields = new Set(
  commonFields.flatMap(([key, schema]) => {
    const absent = schema.safeParse(undefined)
    return absent.success && absent.data === undefined ? [key] : []
  }),
)

export class StepDrafts {
  readonly #environment: CompileEnvironment
  readonly #report: Report
  readonly #counts = new Map<string, number>()
  #index = 0

  constructor(environment: CompileEnvironment, report: Report) {
    this.#environment = environment
    this.#report = report
  }

  /** `handlerId` is the key under `handlers`. It is the id of the action. */
  make(raw: RawAction, handlerId?: string): Draft {
    const { pointer, fields } = raw
    const common = this.#common(raw)
    const type = typeof fields["type"] === "string" ? fields["type"] : ""
    const action = this.#action(type, pointer)
    const parts = templateParts(fields)
    if (parts > maxParts) this.#report.add("invalid-template", pointer, `The action holds more than ${maxParts} template outputs and tags.`)
    const config = action && parts <= maxParts ? compileConfig(action, ownFields(fields), pointer, commonFieldNames) : undefined
    for (const problem of config?.schemaProblems ?? []) this.#report.add(problem.rule, problem.pointer, problem.message)
    for (const problem of config?.templateProblems ?? []) this.#report.add("invalid-template", problem.pointer, problem.message)
    const when = this.#expression(common.when, childPointer(pointer, "when"))
    const forEach = this.#expression(common.for_each, childPointer(pointer, "for_each"))
    if (common.await && action?.timing === "commit") {
      this.#report.add("invalid-field", childPointer(pointer, "await"), `"${type}" runs before the reply anyway; remove "await".`)
    }
    if (common.gate && (common.await || action?.timing === "commit")) {
      this.#report.add("invalid-field", childPointer(pointer, "gate"), `Only a step that runs after the reply can wait for approval.`)
    }
    const placed = (found: typeof when, field: string): PlacedRead[] =>
      (found?.reads ?? []).map((read) => ({ ...read, pointer: childPointer(pointer, field) }))
    return {
      id: handlerId ?? common.id ?? this.#defaultId(type),
      index: this.#index++,
      pointer,
      type,
      action,
      named: common.id !== undefined || handlerId !== undefined,
      common,
      config,
      when,
      forEach,
      reads: [...(config?.reads ?? []), ...placed(when, "when"), ...placed(forEach, "for_each")],
    }
  }

  #common({ pointer, fields }: RawAction): Partial<CommonActionFields> {
    const given = Object.fromEntries(Object.entries(fields).filter(([key]) => commonFieldNames.includes(key)))
    const common: Record<string, unknown> = {}
    for (const [key, schema] of commonFields) {
      if (given[key] === undefined && optionalFields.has(key)) continue
      const checked = schema.safeParse(given[key])
      if (checked.success) {
        if (checked.data !== undefined) common[key] = checked.data
        continue
      }
      for (const problem of schemaProblems({ issues: checked.error.issues, schema, value: given[key] }, childPointer(pointer, key))) {
        const missing = given[key] === undefined
        this.#report.add(problem.rule, missing ? pointer : problem.pointer, missing ? `The action has no "${key}".` : problem.message)
      }
    }
    return common as Partial<CommonActionFields>
  }

  #action(type: string, pointer: string): AnyAction | undefined {
    if (type === "") return undefined
    const action = this.#environment.actions.get(type)
    if (!action) {
      const known = this.#environment.actions.names()
      const hint = didYouMean(type, known) || ` There are: ${known.join(", ")}.`
      this.#report.add("unknown-action", childPointer(pointer, "type"), `The action type "${type}" does not exist.${hint}`)
    }
    return action
  }

  #expression(text: string | undefined, pointer: string): Draft["when"] {
    if (text === undefined) return undefined
    const compiled = compileExpression(text)
    if (compiled.ok) return compiled
    for (const problem of compiled.problems) this.#report.add("invalid-template", pointer, problem)
    return undefined
  }

  #defaultId(type: string): string {
    return `${type.toLowerCase().replace(/[^a-z0-9]/g, "_") || "step"}_${this.#counts.get(type) ?? 1}`
  }

  /** Counts every action of its type, with or without an explicit id. */
  counted(raw: RawAction): Draft {
    const type = typeof raw.fields["type"] === "string" ? raw.fields["type"] : ""
    this.#counts.set(type, (this.#counts.get(type) ?? 0) + 1)
    return this.make(raw)
  }
}

/** Maximum outputs and tags in an action's fields. Each takes about 30 µs to compile. */
const maxParts = 1_000

/** Returns true if the compilation takes long enough to yield before the next action. */
export function holdsManyTemplates({ fields }: RawAction): boolean {
  return templateParts(fields) > maxParts / 10
}

function templateParts(value: unknown): number {
  if (typeof value === "string") return value.includes("{") ? value.split(/\{\{|\{%/, maxParts + 2).length - 1 : 0
  if (typeof value !== "object" || value === null) return 0
  let parts = 0
  for (const key in value) {
    parts += templateParts((value as Record<string, unknown>)[key])
    if (parts > maxParts) break
  }
  return parts
}

function ownFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([key]) => !commonFieldNames.includes(key)))
}
