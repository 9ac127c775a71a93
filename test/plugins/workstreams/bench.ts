// A service with agents and models on loopback, and calls of workstreams.
import { expect } from "chai"
import { type ApiResponse, type TestHost, testHost } from "#core/testing"
import { until } from "../../waiting.ts"
import { type AgentServer, agentServer } from "../evals/agent-server.ts"
import { type ModelServer, modelServer } from "../models/model-server.ts"

export interface Assignment {
  readonly slug: string
  readonly assigned_agent_key: string
  readonly responsibility?: string
  readonly work_state: string
  readonly work_state_reason: string
  readonly adoption_state: string
  readonly latest_attempt: {
    readonly agent_run_id: string | null
    readonly attempt_number: number
    readonly state: string
    readonly summary: string
    readonly handles: unknown[]
    readonly terminal_reason: string
  } | null
}

export interface Decision {
  readonly slug: string
  readonly status: string
  readonly decider_kind: string
  readonly execution_status: string
  readonly outcome_status: string
  readonly superseded_by_decision_slug: string
}

export interface Whole {
  readonly workstream: {
    readonly id: string
    readonly slug: string
    readonly status: string
    readonly revision: number
    readonly spent_millicents: number
    readonly primary_thread_id: string
    readonly source_template_id: string | null
    readonly external_refs: unknown[]
  }
  readonly assignments: Assignment[]
  readonly current_decisions: Decision[]
  readonly recent_decisions: Decision[]
  readonly events: { readonly body: string; readonly actor_type: string; readonly actor_id: string | null }[]
  readonly phases: { readonly slug: string; readonly status: string; readonly sort_order: number }[]
  readonly resources: { readonly id: string; readonly resource_type: string }[]
  readonly following: boolean
}

export interface Refusal {
  readonly code: string
  readonly message: string
  readonly details: {
    readonly reason?: string
    readonly possible?: string[]
    readonly guard?: string
    readonly fields?: { readonly path: string }[]
    readonly current_revision?: number
  }
}

const fieldsOf = {
  "": "workstream assignments current_decisions recent_decisions events phases resources following",
  workstream:
    "autonomy_mode completed_at created_at description escalation_budget_per_day external_refs id organization_id primary_thread_id project_id revision slug source_template_id spent_millicents started_at status title token_budget_millicents updated_at",
  external_refs: "account_id external_id kind label provider",
  assignments:
    "acceptance_criteria adoption_state assigned_agent_key created_at expected_result_kind id latest_attempt objective reason slug work_state work_state_reason",
  latest_attempt: "agent_run_id attempt_number ended_at handles result_kind state summary terminal_reason",
  handles: "resource_id resource_type revision_ref",
  decisions:
    "applicability approval_id authorized_at decided_by_user_id decider_kind decider_rationale decision_class evidence_kind execution_status outcome_label outcome_status proposed_at rejected_at slug source status subject_kind subject_label superseded_by_decision_slug supersedes_decision_slug what why",
  events: "actor_id actor_type body created_at id organization_id workstream_id",
  phases: "completed_at created_at id skill_slug slug sort_order started_at status thread_id title updated_at workstream_id",
  resources: "created_at id phase_id relationship_type resource_id resource_type title workstream_id",
}

/** Throws if the read model's fields differ from the specification (2.2). */
export function requireExact(whole: Whole): void {
  const { workstream, assignments, current_decisions, recent_decisions, events, phases, resources } = whole
  const attempts = assignments.flatMap(({ latest_attempt }) => latest_attempt ?? [])
  const fixtures: Record<keyof typeof fieldsOf, readonly unknown[]> = {
    "": [whole],
    workstream: [workstream],
    external_refs: workstream.external_refs,
    assignments,
    latest_attempt: attempts,
    handles: attempts.flatMap(({ handles }) => handles),
    decisions: [...current_decisions, ...recent_decisions],
    events,
    phases,
    resources,
  }
  for (const [name, fields] of Object.entries(fieldsOf))
    for (const example of fixtures[name as keyof typeof fieldsOf]) expect(example, name).to.have.all.keys(...fields.split(" "))
}

export class WorkstreamBench {
  readonly host: TestHost
  readonly agent: AgentServer
  readonly models: ModelServer

  private constructor(host: TestHost, agent: AgentServer, models: ModelServer) {
    this.host = host
    this.agent = agent
    this.models = models
  }

  /** With the agents `writer` (a model with 120 millicents per call) and `worker` (a webhook). */
  static async open(env: Readonly<Record<string, string>> = {}): Promise<WorkstreamBench> {
    const [agent, models] = [await agentServer(), await modelServer()]
    const settings = {
      models: { default: { base_url: models.url, model: "m-1", prices: { input: 1_000_000, output: 1_000_000 } }, max_retries: 0 },
    }
    const host = await testHost({
      capture: false,
      env: {
        MILLRACE_OUTGOING_ALLOW_HOSTS: new URL(agent.url).host,
        MILLRACE_JOBS_POLL_MS: "50",
        MILLRACE_PLUGINS_SETTINGS: JSON.stringify(settings),
        ...env,
      },
    })
    const bench = new WorkstreamBench(host, agent, models)
    await bench.agents()
    return bench
  }

  /** Creates the agents in an organization. */
  async agents(options: Parameters<TestHost["api"]>[3] = {}): Promise<void> {
    const credentials = { base_url: this.agent.url }
    const connection = { app: "http", name: "Agents", credentials, share_with_org: true }
    await this.host.api("POST", "/v1/integrations-connect", connection, options)
    await this.host.api("POST", "/v1/agents", { key: "writer", name: "Writer", protocol: "model" }, options)
    const worker = { key: "worker", name: "Worker", protocol: "webhook", integration: "agents", path: "/work" }
    await this.host.api("POST", "/v1/agents", worker, options)
  }

  call<T = Whole & Refusal>(
    method: string,
    path: string,
    body?: unknown,
    options?: Parameters<TestHost["api"]>[3],
  ): Promise<ApiResponse<T>> {
    return this.host.api<T>(method, `/v1/workstreams${path}`, body, options)
  }

  /** Throws if the call is refused. */
  async ok<T = Whole>(method: string, path: string, body?: unknown, options?: Parameters<TestHost["api"]>[3]): Promise<T> {
    const answer = await this.call<T>(method, path, body, options)
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }

  /** Creates an active workstream with an assignment in work by an agent. */
  async inWork(slug: string, agent = "writer", more: object = {}): Promise<string> {
    await this.ok("POST", "", { title: slug, slug, token_budget_millicents: 1_000_000, ...more })
    await this.ok("POST", `/${slug}/transitions`, { event: "start" })
    await this.ok("POST", `/${slug}/assignments`, { assignment: "copy", objective: "Write the copy." })
    await this.move(slug, "assign", { assigned_agent_key: agent })
    await this.move(slug, "begin")
    return slug
  }

  move(slug: string, event: string, more: object = {}): Promise<Assignment> {
    return this.ok<Assignment>("POST", `/${slug}/assignments/copy/transitions`, { event, ...more })
  }

  copy(slug: string): Promise<Assignment> {
    return this.ok<Assignment>("GET", `/${slug}/assignments/copy`)
  }

  attempted(slug: string, state: string): Promise<Assignment> {
    return until(`the attempt being ${state}`, async () => {
      const now = await this.copy(slug)
      return now.latest_attempt?.state === state ? now : undefined
    })
  }

  async close(): Promise<void> {
    await this.host.stop()
    await this.agent.close()
    await this.models.close()
  }
}
