// Threads with messages, agents, and runs of agents: the records behind evals, workstreams and heartbeats.

import { z } from "zod"
import { definePlugin } from "#core"
import { Agents, rotateAgentSecret } from "./agents/agents.ts"
import { AskAgents, askAgentsNeeds, createAskAgents } from "./agents/call.ts"
import { AgentRunCollection, MessageCollection, RunStepCollection, ThreadCollection } from "./collections.ts"
import { cancelRun, getAgentRun, listAgentRuns, listRunSteps, resumeRun, startRun } from "./operations/agent-runs.ts"
import { appendMessage, createThread, getThread, listMessages, listThreads } from "./operations/threads.ts"
import { reasons } from "./reasons.ts"
import { AgentRuns, RunSubjects } from "./runs/agent-runs.ts"
import { agentCallback } from "./runs/callback.ts"
import { expireJob, runJob } from "./runs/jobs.ts"
import { createThreads, Threads, threadsNeeds } from "./threads.ts"

export { type AgentContact, Agents, agentSecretContext, contactOf, type StoredAgent } from "./agents/agents.ts"
export { type AgentAnswer, AskAgents, type ResultHandle } from "./agents/call.ts"
export type { StoredAgentRun } from "./collections.ts"
export { AgentRuns, type RunSubject, RunSubjects } from "./runs/agent-runs.ts"
export { Threads } from "./threads.ts"

const Settings = z.strictObject({
  callback_hours: z.number().min(0.1).max(720).default(24).describe("How long an agent that took a run has to call back."),
  run_slots: z.int().min(1).max(100).default(8).describe("Runs at once on this node, of those that ask their agent."),
})

export default definePlugin({
  id: "threads",
  reasons,
  needs: ["integrations", "models", "outgoing-http"],
  config: Settings,
  async generates() {
    const { runPage, runPageFile } = await import("./runs/page.ts")
    return [{ file: runPageFile, text: runPage() }]
  },
  extensionPoints: [RunSubjects],
  register(registrar, { callback_hours, run_slots }) {
    registrar.resources(Agents)
    registrar.collections(ThreadCollection, MessageCollection, AgentRunCollection, RunStepCollection)
    registrar.operations(createThread, listThreads, getThread, appendMessage, listMessages)
    registrar.operations(rotateAgentSecret)
    registrar.operations(startRun, listAgentRuns, getAgentRun, listRunSteps, cancelRun, resumeRun)
    registrar.routes(agentCallback)
    registrar.jobs({ ...runJob, slots: run_slots }, expireJob)
    registrar.provide(Threads, { inject: threadsNeeds, create: createThreads })
    registrar.provide(AskAgents, { inject: askAgentsNeeds, create: createAskAgents })
    registrar.provide(AgentRuns, { create: (deps) => new AgentRuns({ ...deps, callbackMs: callback_hours * 3_600_000 }) })
  },
})
