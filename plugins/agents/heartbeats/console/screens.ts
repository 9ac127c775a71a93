// Heartbeat screens of the console, built from the operations.
import type { Contribution } from "#console"

export default {
  views: [
    {
      area: "heartbeats",
      isSought: true,
      about: "What is done by itself every so often: a script, or a model with tools.",
      navigation: { group: "Agents", order: 20 },
      first: [
        "description",
        "kind",
        "interval_minutes",
        "next_run_at",
        "latest_status",
        "latest_reason",
        "paused_reason",
        "script_js",
        "instructions",
      ],
      columns: { runs: ["due_at", "status", "reason", "message", "finished_at"] },
    },
  ],
} satisfies Contribution
