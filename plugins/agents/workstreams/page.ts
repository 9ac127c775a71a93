// docs/reference/workstreams.md: the tables of transitions for readers.
import { fileURLToPath } from "node:url"
import { machineArticle } from "#core"
import { machines } from "./transitions.ts"

export const statesPageFile = fileURLToPath(new URL("../../../docs/reference/workstreams.md", import.meta.url))

export function statesPage(): string {
  return `<!-- Generated from plugins/agents/workstreams/transitions.ts; edit that and run npm run generate. -->

# States of workstreams

What is not in a table is refused: \`transition_impossible\`, with the events that the state has in \`details.possible\`. A row whose condition does not hold is \`transition_guarded\`.

${machines.map((machine) => machineArticle(machine)).join("\n\n")}
`
}
