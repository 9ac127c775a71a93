// The whole service for walks over its operations: without limits, outgoing calls or a browser.
import { join } from "node:path"
import { type TestHost, type TestHostOptions, testHost } from "#core/testing"
import { frameworkRoot, loadDeclarations } from "../../../core/bootstrap/plugins.ts"
import { type AnyOperation, Operations } from "../../../core/contract/operation.ts"
import type { CallResponse, OutgoingCall } from "../../../core/contract/outgoing.ts"
import { loadConfig } from "../../../core/kernel/config.ts"
import { pluginSettings } from "../../plugins/buckets/stores.ts"
import { accountUrl } from "./account.ts"

export interface ParityFixture {
  readonly host: TestHost
  readonly operations: ReadonlyMap<string, AnyOperation>
}

const fixtureModel = { base_url: "https://models.example/v1", model: "fixture", prices: { input: 0, output: 0 } }

/** Answers of agents, immediate or deferred, matching the connections in the examples. */
function answersOfAgent({ url }: OutgoingCall): CallResponse | undefined {
  if (url.startsWith("https://agents.example.com/")) return { status: 202, headers: {}, body: "" }
  if (!url.startsWith("https://api.crm.example.com/")) return undefined
  return { status: 200, headers: { "content-type": "application/json" }, body: JSON.stringify({ output: "We are open." }) }
}

/**
 * A simple model: a persona rates each page as fair, a judge of pages prefers the longer page, and a judge of answers passes
 * them.
 */
function answersOfModel({ url, body }: OutgoingCall): CallResponse | undefined {
  if (!url.startsWith(fixtureModel.base_url)) return undefined
  const text = body ?? ""
  // The pages alone, without the question and the following text.
  const [a = "", b = ""] = [...text.matchAll(/Page [AB]:[^<]*<page>(.*?)<\/page>/g)].map(([, page = ""]) => page)
  const verdict = { reasoning: "Longer.", winner: a.length > b.length ? "A" : "B", confidence: 0.5 }
  const passes = { reasoning: "As expected.", verdict: "pass" }
  if (text.includes("cannot_judge")) return answerOf(passes)
  const reply = text.includes("likelihood") ? { answer: "Fair enough.", likelihood: 3 } : verdict
  return answerOf(reply)
}

function answerOf(reply: unknown): CallResponse {
  const message = { role: "assistant", content: JSON.stringify(reply) }
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

/** Returns all shipped operations, for one test each. */
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
    plugins,
    env: {
      ...Object.fromEntries(limits),
      ...pluginSettings({
        identity: { codes_per_email_hour: 1_000 },
        screenshots: { executable: "/nowhere/chromium" },
        models: { default: fixtureModel },
        // Starts a process per organization on its first query, and no others.
        "page-analytics": { ready_processes: 0, threads: 1 },
      }),
      MILLRACE_PUBLIC_URL: accountUrl,
      MILLRACE_LOG_LEVEL: "error",
      MILLRACE_JOBS_POLL_MS: "50",
      ...env,
    },
  })
  host.outgoing.fixtures.push(answersOfModel, answersOfAgent)
  return { host, operations: new Map(host.runtime.registry.items(Operations).map((operation) => [operation.name, operation])) }
}
