// A service with an agent and a judge on loopback. Runs suites on it to their end.
import { type TestHost, testHost } from "#core/testing"
import { until } from "../../waiting.ts"
import { type ModelServer, modelServer, type Said } from "../models/model-server.ts"
import { type AgentServer, agentServer } from "./agent-server.ts"

export interface CaseReport {
  readonly case: string
  readonly state: string
  readonly flaky: boolean
  readonly passed: number
  readonly failed: number
  readonly could_not_judge: number
  readonly reason: string
  readonly interval: { readonly low: number; readonly high: number }
  readonly baseline: { readonly passed: number; readonly failed: number } | null
}

export interface Run {
  readonly id: string
  readonly status: string
  readonly cause: string
  readonly repeats: number
  readonly verdict: string | null
  readonly reason: string
  readonly score: number | null
  readonly unjudged_percent: number | null
  readonly red: string[]
  readonly flaky: string[]
  readonly judge: string
  readonly pass_threshold: number
  readonly baseline_run_id: string | null
  readonly cost_millicents: number
  readonly accepted: { readonly reason: string } | null
  readonly cases: CaseReport[]
}

export interface Answer {
  readonly case: string
  readonly repeat: number
  readonly verdict: string | null
  readonly reason: string
  readonly cause: string
  readonly output: string
  readonly artifact: string | null
  readonly judged_again: string | null
  readonly agent_millicents: number
}

export interface Refusal {
  readonly code: string
  readonly message: string
  readonly details: { readonly reason?: string; readonly setting?: string }
}

const prices = { input: 1_000, output: 1_000 }

/** A judge that passes answers with the word "right". */
export const bySight = ({ text }: { readonly text: string }): Said => {
  const answer = /<answer>\n([\s\S]*?)\n<\/answer>/.exec(text)?.[1] ?? ""
  return { json: { reasoning: `It says: ${answer}`, verdict: answer.includes("right") ? "pass" : "fail" } }
}

export class EvalBench {
  readonly host: TestHost
  readonly agent: AgentServer
  readonly judge: ModelServer

  private constructor(host: TestHost, agent: AgentServer, judge: ModelServer) {
    this.host = host
    this.agent = agent
    this.judge = judge
  }

  /** With the agents `desk` (a webhook) and `chat` (chat completions). */
  static async open(
    settings: { evals?: object; models?: (judgeUrl: string) => object; env?: Record<string, string> } = {},
  ): Promise<EvalBench> {
    const [agent, judge] = [await agentServer(), await modelServer()]
    const model = { base_url: judge.url, prices }
    const models = settings.models?.(judge.url) ?? {
      judge: { ...model, model: "judge-1" },
      others: [{ ...model, model: "judge-2" }],
      max_retries: 0,
    }
    const env = {
      MILLRACE_OUTGOING_ALLOW_HOSTS: new URL(agent.url).host,
      MILLRACE_JOBS_POLL_MS: "50",
      MILLRACE_PLUGINS_SETTINGS: JSON.stringify({ models, evals: settings.evals ?? {} }),
      ...settings.env,
    }
    const bench = new EvalBench(await testHost({ capture: false, env }), agent, judge)
    const credentials = { base_url: agent.url, headers: { Authorization: "Bearer agent-secret" } }
    await bench.host.api("POST", "/v1/integrations-connect", { app: "http", name: "Agent", credentials, share_with_org: true })
    const input = { name: "Desk", integration: "agent", timeout_ms: 30_000 }
    await bench.host.api("POST", "/v1/agents", { ...input, key: "desk", protocol: "webhook", path: "/desk" })
    // An agent with a short timeout, for requests without answers only.
    await bench.host.api("POST", "/v1/agents", { ...input, key: "hasty", protocol: "webhook", timeout_ms: 1_000 })
    const chat = { protocol: "chat_completions", path: "/v1/chat/completions", model: "agent-1", instructions: "You are a desk.", prices }
    await bench.host.api("POST", "/v1/agents", { ...input, key: "chat", ...chat })
    return bench
  }

  /** Creates a suite with one case per name. Names with a leading `!` are critical. */
  async suite(slug: string, cases: readonly string[], input: object = {}): Promise<string> {
    await this.host.api("POST", "/v1/evals/suites", { name: slug, slug, agent_key: "desk", ...input })
    for (const name of cases) await this.case(slug, name)
    return slug
  }

  /** Inputs differ between suites, since a verdict is cached per question. */
  case(suite: string, name: string, input: object = {}) {
    const word = name.replace("!", "")
    const item = {
      name: word,
      slug: word,
      input: `Question ${word} of ${suite}`,
      expectation: `Answers ${word} right.`,
      critical: name.startsWith("!"),
    }
    return this.host.api("POST", `/v1/evals/suites/${suite}/cases`, { ...item, ...input })
  }

  start(suite: string, repeats?: number) {
    return this.host.api<Run & Refusal>("POST", `/v1/evals/suites/${suite}/runs`, repeats === undefined ? {} : { repeats })
  }

  async read(suite: string, id: string): Promise<Run> {
    return (await this.host.api<Run>("GET", `/v1/evals/suites/${suite}/runs/${id}`)).body
  }

  async finished(suite: string, id: string): Promise<Run> {
    await until(`the run of ${suite} being completed`, async () => (await this.read(suite, id)).status === "completed")
    return await this.read(suite, id)
  }

  /** Like `finished`, for a run with retries: moves the clock to the next try after a failure, never during a try. */
  async finishedByRetries(suite: string, id: string): Promise<Run> {
    let passed = 0
    await until(`the run of ${suite} being completed`, async () => {
      const failed = this.host.logged.filter((line) => line.includes('"type":"evals.run"') && line.includes('"again_in_ms"'))
      for (const line of failed.slice(passed)) await this.host.clock.move((JSON.parse(line) as { again_in_ms: number }).again_in_ms)
      passed = failed.length
      return (await this.read(suite, id)).status === "completed"
    })
    return await this.read(suite, id)
  }

  /** Runs a suite to its end. */
  async run(suite: string, repeats?: number): Promise<Run> {
    const { body, status } = await this.start(suite, repeats)
    if (status !== 200) throw new Error(`The run was refused: ${JSON.stringify(body)}`)
    return await this.finished(suite, body.id)
  }

  async answers(suite: string, { id }: Pick<Run, "id">): Promise<Answer[]> {
    const path = `/v1/evals/suites/${suite}/runs/${id}/answers?limit=200`
    return (await this.host.api<{ answers: Answer[] }>("GET", path)).body.answers
  }

  forget(): void {
    this.agent.forget()
    this.judge.forget()
  }

  async close(): Promise<void> {
    await this.host.stop()
    await this.agent.close()
    await this.judge.close()
  }
}
