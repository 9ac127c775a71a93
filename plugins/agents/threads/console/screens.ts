// Console screens of threads, agents and their runs, built from the operations.
import type { Contribution } from "#console"

export default {
  views: [
    {
      area: "threads",
      navigation: { group: "Agents", order: 30 },
      columns: { threads: ["title", "message_count", "updated_at"], messages: ["created_at", "role", "author", "content"] },
    },
    {
      area: "agents",
      isSought: true,
      navigation: { group: "Agents", order: 40 },
      first: ["protocol", "integration", "model", "instructions", "timeout_ms", "updated_at"],
      columns: { agents: ["name", "key", "protocol", "integration", "model", "updated_at"] },
    },
    {
      area: "agent_runs",
      title: "Agent runs",
      navigation: { group: "Agents", order: 45 },
      called: ["agent_key"],
      first: ["input", "output", "summary", "terminal_reason", "cost_millicents", "attempt_number", "created_at", "ended_at"],
      columns: {
        agent_runs: ["created_at", "agent_key", "state", "summary", "cost_millicents"],
        steps: ["at", "kind", "detail", "cost_millicents"],
      },
    },
  ],
} satisfies Contribution
