// docs/reference/agent-runs.md: the table of transitions for readers.
import { fileURLToPath } from "node:url"
import { machineArticle } from "#core"
import { runMachine } from "./transitions.ts"

export const runPageFile = fileURLToPath(new URL("../../../../docs/reference/agent-runs.md", import.meta.url))

export function runPage(): string {
  return `<!-- Generated from plugins/agents/threads/runs/transitions.ts; edit that and run npm run generate. -->

# States of agent runs

What is not in the table is refused: \`transition_impossible\`, with the events that the state has in \`details.possible\`.

${machineArticle(runMachine)}
`
}
