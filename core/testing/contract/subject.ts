// The subject of a contract: one action type, its requirements, and its examples as pipelines.
import { parse } from "yaml"
import { z } from "zod"
import { type ActionExample, Actions, type AnyAction } from "../../contract/action.ts"
import type { Json } from "../../contract/collection.ts"
import { type AnyPlugin, definePlugin, registerPlugin } from "../../contract/registrar.ts"
import { Container } from "../../kernel/di.ts"
import { Registry } from "../../kernel/registry.ts"
import { PipelineDocument } from "../../pipeline/document.ts"
import type { CallFixture } from "../../rehearsal/captured-outgoing.ts"

/** Argument of `prepare`: the organization of an example. */
export interface ContractContext {
  /** Calls an operation by name as an owner. Throws AppError like the operation. */
  invoke<T = Record<string, Json>>(operation: string, input: unknown): Promise<T>
}

/** Additional requirements of an action type's examples. Most action types have no requirements. */
export interface ContractOptions {
  /** Event fields for the examples. They extend or replace the usual fields of a lead (`email`, `name`, `budget`, …). */
  readonly event?: Readonly<Record<string, Json>>
  /** Creates resources for the examples. Named integrations are connected automatically. */
  readonly prepare?: (world: ContractContext) => Promise<unknown>
  /** `internal` if the action refuses pipelines with public endpoints. */
  readonly source_kind?: "custom_http" | "internal"
  /** Responses of other systems. Default: status 200 with an empty JSON object. */
  readonly answer?: CallFixture
  /** Required plugins besides the shipped plugins. */
  readonly plugins?: readonly AnyPlugin[]
  /** Settings by variable name, as set by an operator. */
  readonly env?: Readonly<Record<string, string>>
}

export interface Subject {
  readonly action: AnyAction
  readonly options: ContractOptions
  /** The declaring plugin, if known. */
  readonly plugin: AnyPlugin | undefined
}

/** Returns the subjects of an action type or of a plugin with action types. */
export function subjectsOf(given: AnyAction | AnyPlugin, options: ContractOptions): Subject[] {
  if (!("register" in given)) return [{ action: given, options, plugin: undefined }]
  const registry = new Registry()
  registerPlugin(given, given.config.parse({}), new Container(), registry)
  const actions = registry.items(Actions)
  if (actions.length === 0) throw new Error(`The plugin "${given.id}" declares no action type.`)
  return actions.map((action) => ({ action, options, plugin: given }))
}

/** Returns a plugin for an otherwise undeclared action type. */
export function pluginFor(action: AnyAction): AnyPlugin {
  return definePlugin({
    id: `contract-${action.type.replaceAll(/[^a-z0-9]+/g, "-")}`,
    config: z.strictObject({}),
    register: (registrar) => registrar.actions(action),
  })
}

/** A step of a pipeline document. */
export type StepDocument = Record<string, Json>

export function stepOf(example: ActionExample): StepDocument {
  return parse(example.yaml) as StepDocument
}

export function documentOf(
  step: StepDocument,
  { source_kind = "custom_http" }: Pick<ContractOptions, "source_kind"> = {},
): PipelineDocument {
  return PipelineDocument.parse({ name: "Contract", state: "active", source_kind, auth_mode: "none", pipeline: [step] })
}

/** Returns a lead, as sent by forms. */
export function eventFor({ options }: Subject): Record<string, Json> {
  return {
    id: "lead-7",
    email: "ada@example.com",
    name: "Ada Lovelace",
    company: "Analytical Engines",
    phone: "+44 20 7946 0000",
    message: "Good morning",
    budget: 5_000,
    amount: 12.5,
    currency: "EUR",
    contact_id: "contact-7",
    url: "https://example.com/ada",
    tags: ["demo"],
    consent: true,
    _envelope: { page_url: "https://example.com/pricing" },
    ...options.event,
  }
}
