// Scripts of plugins. The sandbox runs them as a separate kind of call (contract/sandbox.ts).
import type { Json } from "../../contract/collection.ts"
import {
  maxScriptMs,
  maxScriptResultBytes,
  type ScriptCall,
  type ScriptEnd,
  type ScriptResult,
  type Scripts,
} from "../../contract/sandbox.ts"
import { asAppError } from "../../kernel/errors.ts"
import { logLines } from "../../kernel/log-lines.ts"
import type { RunResult, Sandbox, SandboxResult } from "./sandbox.ts"

export function createScripts(sandbox: Sandbox): Scripts {
  const compile = (organization: string, source: string) =>
    sandbox.compile({ organization, schema: null, transform: source, entry: "script" })
  return {
    async check(organization, source) {
      const { problems } = await compile(organization, source)
      return problems.map(({ part: _part, pointer: _pointer, message, ...place }) => ({ message: inWords(message), ...place }))
    },

    async run(call) {
      const { organization, id, source, input, now, seed, deadlineMs = maxScriptMs, maxResultBytes = maxScriptResultBytes } = call
      refuseLimits(call)
      const compiled = await compile(organization, source).catch(notCompiled)
      if ("kind" in compiled) return compiled
      const { program, problems } = compiled
      if (!program) return refused(problems[0])
      const result = await sandbox.run({
        organization,
        pipelineId: id,
        program,
        body: JSON.stringify(input),
        context: "{}",
        receivedAt: now,
        seed,
        script: { deadlineMs },
      })
      return resultOf(result, maxResultBytes)
    },

    forget: (id) => sandbox.forget(id),
  }
}

/** Invalid limits are an error of the plugin, not of the script. */
function refuseLimits({ deadlineMs = maxScriptMs, maxResultBytes = maxScriptResultBytes }: ScriptCall): void {
  if (!(deadlineMs >= 1 && deadlineMs <= maxScriptMs)) throw new RangeError(`deadlineMs is ${deadlineMs}; it must be 1 to ${maxScriptMs}.`)
  if (!(maxResultBytes >= 1 && maxResultBytes <= maxScriptResultBytes))
    throw new RangeError(`maxResultBytes is ${maxResultBytes}; it must be 1 to ${maxScriptResultBytes}.`)
}

function notCompiled(error: unknown): ScriptResult & { ok: false } {
  const { code, message, retryAfterS = 1 } = asAppError(error)
  if (code !== "unavailable") throw error
  return { ok: false, kind: "unavailable", message, retryAfterS }
}

function refused(problem: { message: string; line?: number } | undefined): ScriptResult {
  const { message = "The script could not be compiled.", line } = problem ?? {}
  return { ok: false, kind: "refused", message: inWords(message), ...(line === undefined ? {} : { line }) }
}

function resultOf({ logs, ...result }: SandboxResult, maxResultBytes: number): ScriptResult {
  const told = inScriptsWords(result, maxResultBytes)
  return logs ? { ...told, logs: logLines(logs) } : told
}

function inScriptsWords(result: RunResult, maxResultBytes: number): ScriptEnd {
  if (result.ok) {
    const bytes = Buffer.byteLength(result.event)
    if (bytes <= maxResultBytes) return { ok: true, value: JSON.parse(result.event) as Json }
    return { ok: false, kind: "bad_result", message: `The script returned ${bytes} bytes of JSON; at most ${maxResultBytes} are allowed.` }
  }
  if ("errors" in result) return { ok: false, kind: "invalid_input", message: result.message }
  return result.kind === "threw" ? result : { ...result, message: inWords(result.message) }
}

/** Replaces the words for transforms and events in messages of the sandbox. */
function inWords(message: string): string {
  return message
    .replaceAll("transform_js", "The script")
    .replaceAll("pipeline's transform or schema", "script")
    .replaceAll("transform or schema", "script")
    .replace(/\btransform\b/g, "script")
    .replace("The body", "The input")
    .replace("(event)", "(input)")
}
