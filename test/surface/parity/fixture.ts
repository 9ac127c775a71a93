// The whole service for the walks over its operations: no limits in the way, nothing sent anywhere, no browser started.
import { join } from "node:path"
import { type TestHost, type TestHostOptions, testHost } from "#core/testing"
import { frameworkRoot, loadDeclarations } from "../../../core/bootstrap/plugins.ts"
import { type AnyOperation, Operations } from "../../../core/contract/operation.ts"
import type { CallResponse, OutgoingCall } from "../../../core/contract/outgoing.ts"
import { loadConfig } from "../../../core/kernel/config.ts"
import { pluginSettings } from "../../plugins/buckets/stores.ts"

export interface ParityFixture {
  readonly host: TestHost
  readonly operations: ReadonlyMap<string, AnyOperation>
}

const fixtureModel = { base_url: "https://models.example/v1", model: "fixture", prices: { input: 0, output: 0 } }

/** A model of little depth: a persona finds each page fair, a judge names the longer one. */
function answersOfModel({ url, body }: OutgoingCall): CallResponse | undefined {
  if (!url.startsWith(fixtureModel.base_url)) return undefined
  const text = body ?? ""
  const [a = "", b = ""] = text.split("Page B:")
  const verdict = { reasoning: "Longer.", winner: a.length > b.length ? "A" : "B", confidence: 0.5 }
  const said = text.includes("likelihood") ? { answer: "Fair enough.", likelihood: 3 } : verdict
  const message = { role: "assistant", content: JSON.stringify(said) }
  const answer = {
    id: "1",
    object: "chat.completion",
    created: 1,
    model: "fixture",
    choices: [{ index: 0, message, finish_reason: "stop" }],
  }
  return {
    status: 200,
    headers: {},
    body: JSON.stringify({ ...answer, usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } }),
  }
}

/** Every operation of what ships, for a test each. */
export async function shippedOperations(): Promise<AnyOperation[]> {
  const { config } = loadConfig({ defaults: join(frameworkRoot, "config/default.yaml"), env: {} })
  return (await loadDeclarations({ config, root: frameworkRoot })).registry.items(Operations)
}

export async function openParityFixture(
  env: Readonly<Record<string, string>> = {},
  plugins: TestHostOptions["plugins"] = [],
): Promise<ParityFixture> {
  const limits = ["KEY", "ORGANIZATION", "ADDRESS"].map((who) => [`MILLRACE_RATE_LIMITS_${who}_PER_MINUTE`, "1000000"])
  const host = await testHost({
    capture: true,
    sharedCompiler: true,
    plugins,
    env: {
      ...Object.fromEntries(limits),
      ...pluginSettings({ screenshots: { executable: "/nowhere/chromium" }, models: { default: fixtureModel } }),
      MILLRACE_LOG_LEVEL: "error",
      MILLRACE_JOBS_POLL_MS: "50",
      ...env,
    },
  })
  host.outgoing.fixtures.push(answersOfModel)
  return { host, operations: new Map(host.runtime.registry.items(Operations).map((operation) => [operation.name, operation])) }
}
