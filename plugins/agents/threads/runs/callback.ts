// Routes for an agent's callbacks: progress and the answer. The signature has the same form as the request's.
import { createHmac } from "node:crypto"
import {
  AppError,
  Clock,
  defineRoute,
  exactJson,
  isRecord,
  isUuid,
  type Json,
  nextState,
  type PublicUrl,
  Store,
  sameSecret,
  UnitsOfWork,
  Vault,
} from "#core"
import { Agents, agentSecretContext } from "../agents/agents.ts"
import { type AgentAnswer, webhookAnswer } from "../agents/call.ts"
import { isSigned } from "../agents/signature.ts"
import { AgentRunCollection, type StoredAgentRun } from "../collections.ts"
import { AgentRuns, type RunMove } from "./agent-runs.ts"
import { runMachine } from "./transitions.ts"

const path = "/v1/agent-callbacks"

/** Returns the callback address of an attempt. Its token prevents replay of a signed callback for another run of the agent. */
export function callbackUrl(
  { base, vault }: { readonly base: ReturnType<PublicUrl>; readonly vault: Vault },
  organization: string,
  { id, attempt_number }: StoredAgentRun,
): string {
  return `${base}${path}/${organization}/${id}/${attempt_number}?token=${tokenOf(vault, organization, id, attempt_number)}`
}

function tokenOf(vault: Vault, organization: string, run: string, attempt: number): string {
  return createHmac("sha256", vault.keyFor("agent callbacks")).update(`${organization}\n${run}\n${attempt}`).digest("base64url")
}

export const agentCallback = defineRoute({
  name: "agent_runs.callback",
  summary: "Call back to an agent run: the `callback_url` that its agent was sent.",
  method: "POST",
  path: `${path}/{organization}/{run}/{attempt}`,
  maxBodyBytes: 262_144,
  inject: { store: Store, clock: Clock, vault: Vault, works: UnitsOfWork, runs: AgentRuns },
  document: {
    description:
      "Signed as the request to the agent was: `X-Signature-256: sha256=<hex>`, the HMAC-SHA-256 of `{timestamp}.{body}` under the agent's secret, and `X-Signature-Timestamp` in seconds, at most five minutes old.",
    query: { token: "As in callback_url." },
    path: { organization: "As in callback_url.", run: "As in callback_url.", attempt: "As in callback_url." },
    body: {
      description:
        "The answer: `{ output, summary?, result_kind?, handles?, cost_millicents? }`; `{ error }`; or how far it is: `{ step }`.",
      content: { "application/json": { schema: { type: "object" } } },
    },
    answers: {
      "200": { description: "Taken; `state` is the run's.", type: "application/json" },
      "400": { description: "Not such a body, or the run has ended." },
      "401": { description: "Not signed by the agent of such a run." },
    },
  },
  async handle({ request, deps }) {
    const { organization = "", run: runId = "", attempt = "" } = request.params
    const body = Buffer.from(await request.body()).toString("utf8")
    const token = request.query.get("token") ?? ""
    const run = await signedRun(deps, { organization, runId, attempt, token, headers: request.headers, body })
    const fields = objectOf(body)
    const { step, error } = fields
    if (typeof step === "string") {
      nextState(runMachine, run.state, "succeed", { unbound: false })
      await deps.works.run((work) => deps.runs.record(work, organization, run, { kind: "reported", detail: step, cost_millicents: 0 }))
      return answered(run.state)
    }
    const reason = typeof error === "string" ? error : undefined
    const move: RunMove =
      reason === undefined
        ? succeeded(webhookAnswer(run.agent_key, fields))
        : { event: "fail", step: { kind: "failed", detail: reason }, reason }
    const moved = await deps.runs.settle(organization, run.id, run.attempt_number, move)
    if (moved) return answered(moved.state)
    // The run has ended: throws the error of the state machine.
    nextState(runMachine, (await deps.runs.require(organization, run.id)).state, move.event, { unbound: false })
    return answered(run.state)
  },
})

interface Called {
  readonly organization: string
  readonly runId: string
  readonly attempt: string
  readonly token: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Throws the same error for a missing run and a wrong signature. */
async function signedRun(
  { store, vault, clock }: { readonly store: Store; readonly vault: Vault; readonly clock: Clock },
  { organization, runId, attempt, token, headers, body }: Called,
): Promise<StoredAgentRun> {
  const run = isUuid(organization) && isUuid(runId) ? await store.open(AgentRunCollection, organization).get(runId) : undefined
  const agent = run && (await store.open(Agents.collection, organization).get(run.agent_id))
  if (run && agent && String(run.attempt_number) === attempt) {
    const secret = vault.open(agent.secret, agentSecretContext(agent.id))
    const isOfRun = !run.keyed_callback || sameSecret(token, tokenOf(vault, organization, runId, run.attempt_number))
    if (isOfRun && isSigned(secret, headers, body, clock.now())) return run
  }
  const message = "The call back is not signed by the agent of such a run and attempt, within the last five minutes."
  throw new AppError("unauthenticated", message, { reason: "callback_refused" })
}

function succeeded(answer: AgentAnswer): RunMove {
  return { event: "succeed", step: { kind: "succeeded", detail: answer.summary }, answer }
}

function objectOf(text: string): { readonly [field: string]: Json | undefined } {
  try {
    const value = exactJson(text) as Json
    if (isRecord(value)) return value
  } catch {
    // Falls through to the refusal of non-objects.
  }
  throw new AppError("invalid_argument", "The body is not a JSON object.", { reason: "body_not_an_object" })
}

function answered(state: string) {
  return { headers: { "Content-Type": "application/json; charset=utf-8" }, body: JSON.stringify({ state }) }
}
