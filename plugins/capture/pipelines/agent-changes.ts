// Pipeline changes by agents. Gated steps of the changed pipeline wait for approval until a person saves the changed fields.
import { AppError } from "#core"
import type { Graph, PipelineDocument, PipelineEngine } from "#core/engine"
import type { PipelineRecord } from "./collections.ts"

/** Fields with code. A person must save each of these fields again. */
const codeFields = ["pipeline", "handlers", "transform_js"] as const
const otherFields = ["state", "name", "request_schema", "dedupe", "purpose", "owner_artifact_id", "accept_files"] as const

export interface Change {
  readonly byAgent: boolean
  /** Names of the fields that the caller sent. */
  readonly given: readonly string[]
  readonly rotates: boolean
}

/** Returns the fields of a new pipeline that await a person. */
export function agentFieldsOfNew(document: PipelineDocument, byAgent: boolean): string[] {
  if (!byAgent) return []
  return codeFields.filter((field) => Object.keys(document[field] ?? {}).length > 0 || typeof document[field] === "string")
}

/** Returns the fields that await a person after a change. */
export function agentFieldsAfter(stored: PipelineRecord, document: PipelineDocument, change: Change): string[] {
  const earlier = stored.agent_fields ?? []
  const secret = change.rotates ? ["secret"] : []
  if (change.byAgent) {
    const changed = [...codeFields, ...otherFields].filter((field) => !isSame(stored.document[field], document[field]))
    return [...new Set([...earlier, ...changed, ...secret])]
  }
  const saved = new Set<string>([...change.given, ...secret])
  const isReviewed = (field: string) => saved.has(field) || (saved.has("pipeline") && !codeFields.some((one) => one === field))
  return earlier.filter((field) => !isReviewed(field))
}

function isSame(before: unknown, after: unknown): boolean {
  return JSON.stringify(before ?? null) === JSON.stringify(after ?? null)
}

export interface AgentChange {
  readonly organization: string
  /** Absent for a new pipeline, and for a pipeline that no longer compiles. */
  readonly before: Graph | undefined
  readonly after: Graph
  readonly isActive: boolean
}

/** Refuses a change that removes a step's gate. Returns a warning with the steps that will wait. */
export async function checkAgentChange(engine: PipelineEngine, { organization, before, after, isActive }: AgentChange): Promise<string[]> {
  const waiting: string[] = []
  for (const step of before?.byId.values() ?? []) {
    if (!step.gated || after.byId.get(step.id)?.gated || !(await engine.gateHolds(organization, step.action.type))) continue
    throw personNeeded(step.id, `An agent cannot remove the step "${step.id}" or its gate, because ${step.action.type} needs approval`)
  }
  for (const step of after.byId.values()) {
    if (step.action.timing !== "deferred" || !(await engine.gateHolds(organization, step.action.type))) continue
    if (step.deferred) waiting.push(step.id)
    else if (isActive)
      throw personNeeded(
        step.id,
        `The step "${step.id}" runs before the reply, so it cannot wait for approval. Remove "await"; an agent cannot save such a step`,
      )
  }
  if (waiting.length === 0) return []
  const message = `an agent changed this pipeline, so these steps wait for approval: ${waiting.join(", ")}. A person who saves the pipeline ends this.`
  return [`agent-change: ${message}`]
}

function personNeeded(step: string, message: string): AppError {
  return new AppError("permission_denied", `${message}. Ask a person to change the pipeline.`, { reason: "person_needed", step })
}
