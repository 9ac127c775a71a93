// Checks that a heartbeat's fields are consistent, and that its maker has the required rights. A heartbeat grants no role, scope
// or operation beyond its maker's.
import { AppError, type Caller, roleAtLeast, type Scripts } from "#core"
import type { FieldProblem, OperationTools, PipelineSource } from "#core/engine"
import type { Datasets } from "../../data/datasets/index.ts"
import type { Models } from "../models/index.ts"
import type { HeartbeatFields } from "./heartbeat.ts"

export interface FittingDeps {
  readonly scripts: Scripts
  readonly datasets: Datasets
  readonly source: PipelineSource
  readonly tools: OperationTools
  readonly models: Models
}

/** Throws for the first kind of problem, with all affected fields. */
export async function requireFitting(deps: FittingDeps, caller: Caller, fields: HeartbeatFields): Promise<void> {
  refuse([...windowProblems(fields), ...kindProblems(fields)])
  if (fields.kind === "script") await requireScript(deps, caller, fields)
  else requireInstructions(deps, caller, fields)
}

function windowProblems({ active_window_start: start, active_window_end: end }: HeartbeatFields): FieldProblem[] {
  if ((start === "") !== (end === "")) return [problem("active_window_end", "give both ends of the window, or neither for the whole day")]
  if (start !== "" && start === end) return [problem("active_window_end", "is the start as well; leave both empty for the whole day")]
  return []
}

function kindProblems(fields: HeartbeatFields): FieldProblem[] {
  const { kind, script_js, datasets, pipeline_slug, instructions, model, tools } = fields
  const ofScript = Object.entries({ script_js, datasets, pipeline_slug })
  const ofInstructions = Object.entries({ instructions, model, tools })
  const foreign = (kind === "script" ? ofInstructions : ofScript).filter(([, value]) => value.length > 0)
  const problems = foreign.map(([name]) => problem(name, `a heartbeat of kind ${kind} does not take this`))
  if (kind === "script" && script_js === "") problems.push(problem("script_js", "needed: function script(input) { … }"))
  if (kind === "instructions" && instructions === "") problems.push(problem("instructions", "needed: what is to be done"))
  return problems
}

async function requireScript({ scripts, datasets, source }: FittingDeps, caller: Caller, fields: HeartbeatFields): Promise<void> {
  const organization = caller.organization.id
  const problems = await scripts.check(organization, fields.script_js)
  const messages = problems.map(({ message, line }) => `${line === undefined ? "" : `line ${line}: `}${message.replace(/\.$/, "")}`)
  refuse(messages.map((message) => problem("script_js", message)))
  for (const { slug, filter } of fields.datasets) {
    await datasets.query(organization, await datasets.require(organization, slug), { filter, sort: "" })
  }
  if (fields.datasets.length > 0) requireScope(caller, "datasets:read", "datasets")
  if (fields.pipeline_slug === "") return
  requireScope(caller, "event_pipelines:write", "pipeline_slug")
  const pipeline = await source.bySlug(organization, fields.pipeline_slug)
  if (!pipeline) refuse([problem("pipeline_slug", `the pipeline "${fields.pipeline_slug}" does not exist`)])
  else if (pipeline.document.source_kind !== "internal")
    refuse([problem("pipeline_slug", `"${pipeline.slug}" takes its events from a ${pipeline.document.source_kind}; name an internal one`)])
}

function requireInstructions({ models, tools }: FittingDeps, caller: Caller, { model, role, ...fields }: HeartbeatFields): void {
  models.language("agent", model === "" ? undefined : model)
  if (!roleAtLeast(caller.role, role)) throw beyond("role", `you act as ${caller.role}, and it would act as ${role}`)
  for (const [at, name] of fields.tools.entries()) {
    const path = `tools.${at}`
    const tool = tools.find(name)
    if (!tool) refuse([problem(path, `MCP does not offer an operation "${name}"`)])
    else {
      const { access, secretOutput } = tool.operation
      if (name.startsWith("heartbeats.")) refuse([problem(path, "a heartbeat does not act on heartbeats")])
      if (access.staff || secretOutput) refuse([problem(path, `"${name}" is for staff, or answers a secret; a heartbeat cannot have it`)])
      if (!roleAtLeast(role, access.role)) refuse([problem(path, `"${name}" needs the role ${access.role}; the heartbeat has ${role}`)])
      requireScope(caller, access.scope, path)
    }
  }
}

function requireScope({ scopes }: Caller, scope: string, path: string): void {
  if (scopes && !scopes.has(scope)) throw beyond(path, `this needs the scope ${scope}, which your token does not have`)
}

function beyond(path: string, message: string): AppError {
  const fields = [{ path, message }]
  return new AppError("permission_denied", `${path}: ${message}.`, { reason: "heartbeat_beyond_caller", fields })
}

function refuse(fields: FieldProblem[]): void {
  const [first] = fields
  if (first) throw new AppError("invalid_argument", `${first.path}: ${first.message}.`, { reason: "heartbeat_refused", fields })
}

function problem(path: string, message: string): FieldProblem {
  return { path, message }
}

/** Throws `resource_exhausted` if the organization has reached its limit of heartbeats. */
export async function requireRoom(count: (limit: number) => Promise<number>, most: number): Promise<void> {
  if ((await count(most)) < most) return
  throw new AppError("resource_exhausted", `The organization has ${most} heartbeats, as many as it may; delete some.`, {
    reason: "too_many_heartbeats",
  })
}
