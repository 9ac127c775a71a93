// What a contract is about: one action type, what it takes to run it, and its examples as pipelines.
import { parse } from "yaml"
import { z } from "zod"
import { type ActionExample, Actions, type AnyAction } from "../../contract/action.ts"
import type { Json } from "../../contract/collection.ts"
import { type AnyPlugin, definePlugin, registerPlugin } from "../../contract/registrar.ts"
import { Container } from "../../kernel/di.ts"
import { Registry } from "../../kernel/registry.ts"
import { PipelineDocument } from "../../pipeline/document.ts"
import type { CallFixture } from "../../rehearsal/captured-outgoing.ts"

/** What `prepare` is given: the organization that an example is about to run in. */
export interface ContractContext {
  /** Calls an operation by its name, as an owner. Throws AppError as it does. */
  invoke<T = Record<string, Json>>(operation: string, input: unknown): Promise<T>
}

/** What the examples of an action type need beside it; most need nothing. */
export interface ContractOptions {
  /** Fields of the event that the examples read, beside or in place of the usual ones of a lead (`email`, `name`, `budget`, …). */
  readonly event?: Readonly<Record<string, Json>>
  /** Makes what the examples need to be there. Integrations that they name are connected without asking. */
  readonly prepare?: (world: ContractContext) => Promise<unknown>
  /** `internal` if the action refuses pipelines that anybody may send to. */
  readonly source_kind?: "custom_http" | "internal"
  /** What other systems answer; an empty JSON object with status 200 unless given. */
  readonly answer?: CallFixture
  /** Plugins that the action's own needs, beside the shipped ones. */
  readonly plugins?: readonly AnyPlugin[]
  /** Settings by variable name, as an operator would give them. */
  readonly env?: Readonly<Record<string, string>>
}

export interface Subject {
  readonly action: AnyAction
  readonly options: ContractOptions
  /** The plugin that declares it, where that is known. */
  readonly plugin: AnyPlugin | undefined
}

/** The subjects in an action type, or in a plugin that declares some. */
export function subjectsOf(given: AnyAction | AnyPlugin, options: ContractOptions): Subject[] {
  if (!("register" in given)) return [{ action: given, options, plugin: undefined }]
  const registry = new Registry()
  registerPlugin(given, given.config.parse({}), new Container(), registry)
  const actions = registry.items(Actions)
  if (actions.length === 0) throw new Error(`The plugin "${given.id}" declares no action type.`)
  return actions.map((action) => ({ action, options, plugin: given }))
}

/** A plugin for an action type that no other declares. */
export function pluginFor(action: AnyAction): AnyPlugin {
  return definePlugin({
    id: `contract-${action.type.replaceAll(/[^a-z0-9]+/g, "-")}`,
    config: z.strictObject({}),
    register: (registrar) => registrar.actions(action),
  })
}

/** An action of a pipeline, as its document has it. */
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

/** A lead, as forms send it. */
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
