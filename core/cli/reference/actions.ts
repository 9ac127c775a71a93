// docs/reference/actions.md: every action type with its fields, result and examples.
import type { AnyAction } from "../../contract/action.ts"
import { CommonActionFields } from "../../pipeline/document.ts"
import { byName, fieldsOf, fieldTable, generatedNote } from "../markdown.ts"

export function actionsReference(actions: readonly AnyAction[]): string {
  const sections = byName(actions, (action) => action.type).map(section)
  return `${[
    generatedNote("the action plugins' declarations"),
    "# Actions",
    "What a step of a pipeline can do. `commit` actions are part of the event's own commit, before the reply; `deferred` ones run after it from the durable queue, at least once.",
    "## Fields of every action",
    fieldTable(fieldsOf(CommonActionFields)),
    ...sections.flat(),
  ].join("\n\n")}\n`
}

function section(action: AnyAction): string[] {
  return [
    `## ${action.type}`,
    [action.summary, action.description].filter(Boolean).join(" "),
    `Timing: ${action.timing}.`,
    fieldTable(fieldsOf(action.config)),
    `Result, as \`steps.<id>\` shows it: ${names(action)}.`,
    ...action.examples.map(({ title, yaml }) => `${title}:\n\n\`\`\`yaml\n${yaml.trim()}\n\`\`\``),
  ]
}

function names(action: AnyAction): string {
  const fields = fieldsOf(action.result, { io: "output" })
  return fields.length === 0 ? "nothing" : fields.map(({ name, type }) => `\`${name}\` (${type})`).join(", ")
}
