// Runs one action as a pipeline would: compiles its document, renders it for an event, and runs it with a step's context.
import { parse } from "yaml"
import type { AnyAction, Reply, StepContext, StepWarning } from "../../../core/contract/action.ts"
import type { Json } from "../../../core/contract/collection.ts"
import { StagedWork } from "../../../core/contract/unit-of-work.ts"
import { systemClock } from "../../../core/kernel/clock.ts"
import { timeOrderedIds } from "../../../core/kernel/ids.ts"
import { createLog } from "../../../core/kernel/log.ts"
import { compileConfig } from "../../../core/pipeline/compile/config.ts"
import { CommonActionFields } from "../../../core/pipeline/document.ts"

const common = Object.keys(CommonActionFields.shape)
const ids = timeOrderedIds(systemClock)
export const executionId = ids.uuid()

function fieldsOf(yaml: string): { [key: string]: Json } {
  const input = parse(yaml) as { [key: string]: Json }
  return Object.fromEntries(Object.entries(input).filter(([name]) => !common.includes(name)))
}

export function compiled(action: AnyAction, yaml: string) {
  return compileConfig(action, fieldsOf(yaml), "/pipeline/0", common)
}

/** Returns the rendered config. Throws all compile problems as one message. */
export function rendered(action: AnyAction, yaml: string, event: Json = {}, more: object = {}): unknown {
  const { evaluate, schemaProblems, templateProblems } = compiled(action, yaml)
  const problems = [...schemaProblems, ...templateProblems]
  if (problems.length > 0) throw new Error(JSON.stringify(problems))
  const scope = { event, payload: event, query: {}, envelope: {}, steps: {}, pipeline: { slug: "source" }, organization: {}, ...more }
  return evaluate(scope)
}

function stepContext(change: Partial<StepContext> = {}): StepContext {
  return {
    dataSince: undefined,
    organization: { id: "0190a000-0000-7000-8000-000000000001", slug: "acme" },
    pipeline: { id: "0190a000-0000-7000-8000-000000000002", slug: "source", name: "Source", endpoint_id: "in_1" },
    executionId,
    originId: executionId,
    receivedAt: "2026-01-02T03:04:05.006Z",
    stepId: "step",
    itemIndex: 0,
    event: { email: "ada@example.com" },
    envelope: { received_at: "2026-01-02T03:04:05.006Z", is_test: false },
    stamp: {},
    idempotencyKey: executionId,
    attempt: 1,
    depth: 0,
    signal: new AbortController().signal,
    log: createLog("silent"),
    ...change,
  }
}

export interface Ran {
  readonly result: unknown
  readonly replies: Reply[]
  readonly warnings: StepWarning[]
  readonly work: StagedWork
}

/** Renders and runs the action, and checks the result against its declaration. */
export async function runStep(
  action: AnyAction,
  yaml: string,
  args: { deps?: object; event?: Json; context?: Partial<StepContext>; scope?: object } = {},
): Promise<Ran> {
  const config = rendered(action, yaml, args.event ?? { email: "ada@example.com" }, args.scope)
  const replies: Reply[] = []
  const warnings: StepWarning[] = []
  const work = new StagedWork(ids.uuid())
  const context = stepContext({ ...(args.event === undefined ? {} : { event: args.event }), ...args.context })
  const result: unknown = await action.run({
    config,
    deps: (args.deps ?? {}) as never,
    context,
    work,
    reply: (answer: Reply) => replies.push(answer),
    warn: (warning: StepWarning) => warnings.push(warning),
  })
  return { result: action.result.parse(result), replies, warnings, work }
}

export function findings(action: AnyAction, yaml: string): string[] {
  const { parsed } = compiled(action, yaml)
  return (action.lint?.(parsed) ?? []).map(({ rule, level }) => `${level} ${rule}`)
}
