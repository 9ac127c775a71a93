// A real sandbox with real children, for tests. Calls have defaults for all irrelevant fields.
import { systemClock } from "../../../core/kernel/clock.ts"
import type { CoreConfig } from "../../../core/kernel/config.ts"
import { createLog } from "../../../core/kernel/log.ts"
import { createSandbox, type SandboxOptions } from "../../../core/pipeline/sandbox/create-sandbox.ts"
import type { Program, Sandbox, SandboxCall, SandboxResult } from "../../../core/pipeline/sandbox/sandbox.ts"

const sandboxConfig: CoreConfig["sandbox"] = {
  processes: 1,
  memory_mb: 32,
  timeout_ms: 50,
  hard_deadline_ms: 250,
  max_isolates: 64,
  max_process_mb: 384,
}

export function sandboxUnderTest(options: Partial<SandboxOptions> & { settings?: Partial<CoreConfig["sandbox"]> } = {}): Sandbox {
  const { settings, ...rest } = options
  return createSandbox({ log: createLog("silent"), clock: systemClock, ...rest, config: { ...sandboxConfig, ...settings } })
}

/** Compiles a program. Throws if it does not compile. */
export async function programOf(sandbox: Sandbox, transform: string | null, schema: unknown = null): Promise<Program> {
  const { program, problems } = await sandbox.compile({ organization: "acme", schema, transform })
  if (!program) throw new Error(`Does not compile: ${JSON.stringify(problems)}`)
  return program
}

export function callOf(program: Program, body: unknown, more: Partial<SandboxCall> = {}): SandboxCall {
  return {
    organization: "acme",
    pipelineId: "pipeline",
    program,
    body: typeof body === "string" ? body : JSON.stringify(body),
    context: JSON.stringify({ headers: { "x-a": "1" }, query: {}, envelope: {}, received_at: "2026-01-02T03:04:05.678Z" }),
    receivedAt: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
    seed: "0197-execution",
    ...more,
  }
}

/** Starts one sandbox for all tests of a suite. Returns functions to use it. */
export function sandboxOfSuite(options: Parameters<typeof sandboxUnderTest>[0] = {}) {
  const sandbox = sandboxUnderTest(options)
  before(() => sandbox.start())
  after(() => sandbox.stop())

  type CallArguments = [transform: string | null, body: unknown, more?: Partial<SandboxCall>, schema?: unknown]
  async function run(...[transform, body, more = {}, schema = null]: CallArguments): Promise<SandboxResult> {
    return sandbox.run(callOf(await programOf(sandbox, transform, schema), body, { pipelineId: transform ?? "none", ...more }))
  }

  async function eventOf(...call: CallArguments): Promise<unknown> {
    const result = await run(...call)
    if (!result.ok) throw new Error(JSON.stringify(result))
    return JSON.parse(result.event)
  }
  return { sandbox, run, eventOf }
}
