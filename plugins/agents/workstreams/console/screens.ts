// Console screens of workstreams and their templates, built from the operations.
import type { Contribution } from "#console"

export default {
  views: [
    {
      area: "workstreams",
      isSought: true,
      about: "Work with a goal, a budget and people or agents who are assigned; what was decided, and by whom.",
      navigation: { group: "Agents", order: 10 },
      first: ["description", "spent_millicents", "token_budget_millicents", "autonomy_mode", "started_at", "completed_at", "following"],
      lists: ["phases", "assignments", "current_decisions", "recent_decisions", "events", "resources"],
      columns: {
        workstreams: ["title", "status", "spent_millicents", "token_budget_millicents", "updated_at"],
        phases: ["title", "status", "started_at", "completed_at"],
        assignments: ["objective", "assigned_agent_key", "work_state", "adoption_state", "latest_attempt.state", "latest_attempt.summary"],
        decisions: ["what", "status", "execution_status", "outcome_status", "why", "updated_at"],
        events: ["created_at", "body", "actor_type"],
        resources: ["title", "resource_type", "relationship_type", "created_at"],
      },
    },
    {
      area: "workstream_templates",
      title: "Workstream templates",
      navigation: { group: "Agents", order: 70 },
      columns: { workstream_templates: ["title", "updated_at"] },
    },
  ],
} satisfies Contribution
