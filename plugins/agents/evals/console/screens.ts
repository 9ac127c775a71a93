// Eval screens of the console, built from the operations.
import type { Contribution } from "#console"

export default {
  views: [
    {
      area: "evals",
      isSought: true,
      about: "Questions to agents whose answers are judged, so that a change shows what it broke.",
      navigation: { group: "Agents", order: 50 },
      first: ["description", "agent_key", "pass_threshold", "cron_enabled", "judge_model"],
      lists: ["runs", "cases"],
      columns: {
        suites: ["name", "agent_key", "pass_threshold", "cron_enabled", "updated_at"],
        runs: ["created_at", "status", "verdict", "score", "cause", "reason"],
      },
    },
  ],
} satisfies Contribution
