// Checks the agent and the judge that a suite names.
import { AppError, type Store } from "#core"
import { nearest } from "#core/engine"
import type { Models } from "../models/index.ts"
import { Agents, type StoredAgent } from "../threads/index.ts"
import { judgeOf } from "./judging/judge.ts"

export interface FittingDeps {
  readonly store: Store
  readonly models: Models
}

/** Returns the agent of a suite. Throws `failed_precondition` if the suite names no agent, or an unknown one. */
export async function agentOfSuite(
  store: Store,
  organization: string,
  { slug, agent_key }: { readonly slug: string; readonly agent_key: string },
): Promise<StoredAgent> {
  const found = agent_key === "" ? undefined : await Agents.items.find(store, organization, agent_key)
  if (found) return found
  const keys = (await store.open(Agents.collection, organization).find({}, { limit: 200 })).map(({ key }) => key)
  const near = nearest(agent_key, keys)
  const which = agent_key === "" ? "names no agent" : `names the agent "${agent_key}", which the organization does not have`
  const hint = near === undefined ? "POST /v1/agents makes one" : `did you mean "${near}"?`
  const fields = [{ path: "agent_key", message: `"${agent_key}" is not an agent of the organization` }]
  throw new AppError("failed_precondition", `The suite "${slug}" ${which}; ${hint}.`, { reason: "suite_without_agent", fields })
}

/** Checks what a save gives. An empty field waits for a later save. Throws `not_found` for an unknown agent, `failed_precondition` for an unknown judge. */
export async function requireFitting(
  { store, models }: FittingDeps,
  organization: string,
  { agent_key = "", judge_model = "" }: { readonly agent_key?: string; readonly judge_model?: string },
): Promise<void> {
  if (agent_key !== "") await Agents.items.require(store, organization, agent_key)
  if (judge_model !== "") judgeOf(models, judge_model)
}
