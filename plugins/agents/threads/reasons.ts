// Values of `details.reason` in this plugin's errors.
import { defineReasons, type ReasonsOf } from "#core"
import { Agents } from "./agents/agents.ts"

export const reasons = defineReasons({
  ...Agents.reasons,
  agent_connection_missing: {
    code: "not_found",
    summary: "The organization has no shared connection that reaches the agent.",
    remedy: "Connect it with `share_with_org`.",
  },
  agent_gone: { code: "failed_precondition", summary: "The agent of a run was removed." },
  agent_unusable: { code: "failed_precondition", summary: "The agent's answer has not the form of its protocol." },
  thread_not_found: { code: "not_found", summary: "The organization has no such thread.", remedy: "List the threads." },
  agent_run_not_found: { code: "not_found", summary: "The organization has no such agent run.", remedy: "List the agent runs." },
  callback_refused: {
    code: "unauthenticated",
    summary: "A call back to an agent run is not signed with the agent's secret, or more than five minutes old.",
    remedy: "Sign `{timestamp}.{body}` with the agent's secret, as the request was signed.",
  },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
