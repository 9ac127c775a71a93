// Jobs of a run: ask the agent, and end the run if no callback arrives.
import { AppError, defineJob, derivedUuid, type Json, PublicUrl, Store, UnitsOfWork, Vault } from "#core"
import { type AgentContact, Agents, contactOf } from "../agents/agents.ts"
import { type AgentTurn, AskAgents } from "../agents/call.ts"
import { AgentRunCollection, expireRef, runRef, type StoredAgentRun, type StoredMessage } from "../collections.ts"
import { Threads } from "../threads.ts"
import { AgentRuns } from "./agent-runs.ts"
import { callbackUrl } from "./callback.ts"

/** Limits of the thread shown to an agent: its newest messages at the time of queueing, by number and characters. */
const maxMessages = 50
const maxCharacters = 100_000
/** Error codes of temporary failures. */
const passing = new Set(["unavailable", "deadline_exceeded", "aborted"])

export const runJob = defineJob(runRef, {
  summary: "Asks the agent of a run.",
  inject: {
    store: Store,
    works: UnitsOfWork,
    runs: AgentRuns,
    agents: AskAgents,
    threads: Threads,
    publicUrl: PublicUrl,
    vault: Vault,
  },
  async run({ payload: { run_id, attempt_number }, deps, organization = "", attempt, last, signal }) {
    const { runs, store, threads, publicUrl } = deps
    const before = await store.open(AgentRunCollection, organization).get(run_id)
    // An earlier try handed over the run, but its end was not stored.
    if (before?.state === "waiting") return
    // A failed try counts as a try. A try with a lost node does not.
    const detail = attempt > 1 ? `try ${attempt}` : before?.state === "running" ? "again: the node that asked before did not finish" : ""
    const run = await runs.settle(organization, run_id, attempt_number, {
      event: "begin",
      step: { kind: "asked", detail },
    })
    if (!run) return
    const account = runs.accountOf(organization, run)
    try {
      const agent = await store.open(Agents.collection, organization).get(run.agent_id)
      if (!agent) throw new AppError("failed_precondition", `The agent "${run.agent_key}" was removed.`, { reason: "agent_gone" })
      // An agent behind a connection reports its cost afterwards.
      await account?.check(1)
      const messages = await threads.last(organization, run.thread_id, maxMessages, run.last_message_id)
      const answer = await deps.agents.ask(organization, {
        id: derivedUuid("agent run", run.id, String(attempt_number)),
        agent: contactOf(agent),
        body: bodyOf(run, agent, messages, callbackUrl({ base: publicUrl(), vault: deps.vault }, organization, run)),
        turns: turnsOf(run, messages),
        signal,
        mayCallBack: true,
        ...(account ? { account } : {}),
      })
      await runs.settle(
        organization,
        run_id,
        attempt_number,
        answer === "accepted"
          ? { event: "hand_over", step: { kind: "handed_over", detail: "The agent took it, and calls back." } }
          : { event: "succeed", step: { kind: "succeeded", detail: answer.summary }, answer },
      )
    } catch (error) {
      const reason = error instanceof AppError ? error.message : "The run failed for a reason that is in the service's log."
      if (!last && isPassing(error)) {
        await deps.works.run((work) => runs.record(work, organization, run, { kind: "try_failed", detail: reason, cost_millicents: 0 }))
        throw error
      }
      await runs.settle(organization, run_id, attempt_number, { event: "fail", step: { kind: "failed", detail: reason }, reason })
      if (!(error instanceof AppError)) throw error
    }
  },
  async exhausted({ payload: { run_id, attempt_number }, deps, organization = "" }) {
    const reason = "The run could not be carried out."
    await deps.runs.settle(organization, run_id, attempt_number, { event: "fail", step: { kind: "failed", detail: reason }, reason })
  },
})

export const expireJob = defineJob(expireRef, {
  summary: "Ends a run whose agent did not call back.",
  inject: { store: Store, runs: AgentRuns },
  async run({ payload: { run_id, attempt_number }, deps, organization = "" }) {
    const run = await deps.store.open(AgentRunCollection, organization).get(run_id)
    if (run?.state !== "waiting") return
    const reason = "The agent did not call back in time."
    await deps.runs.settle(organization, run_id, attempt_number, { event: "fail", step: { kind: "failed", detail: reason }, reason })
  },
})

function isPassing(error: unknown): boolean {
  return !(error instanceof AppError) || (passing.has(error.code) && error.details["retryable"] !== false)
}

function bodyOf(
  { id, thread_id, attempt_number, input, subject }: StoredAgentRun,
  { key }: AgentContact,
  messages: readonly StoredMessage[],
  callback_url: string,
): { [field: string]: Json } {
  const history = shownOf(messages).map(({ role, author, content, created_at }) => ({ role, author, content, created_at }))
  return {
    run_id: id,
    agent_key: key,
    thread_id,
    attempt_number,
    input,
    subject: subject && { ...subject },
    messages: history,
    callback_url,
  }
}

function turnsOf({ agent_key }: StoredAgentRun, messages: readonly StoredMessage[]): AgentTurn[] {
  return shownOf(messages).map(({ role, author, content }) => ({
    role: role === "agent" && author === agent_key ? "assistant" : "user",
    content,
  }))
}

/** Returns as many of the newest messages as fit, and always the last message. */
function shownOf(messages: readonly StoredMessage[]): StoredMessage[] {
  let remaining = maxCharacters
  const visible: StoredMessage[] = []
  for (const message of messages.toReversed()) {
    remaining -= message.content.length
    if (remaining < 0 && visible.length > 0) break
    visible.unshift(message)
  }
  return visible
}
