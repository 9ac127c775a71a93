// docs/reference/actions: an index, and a page for each action type with its fields, result, rules and examples.
import type { AnyAction } from "../../contract/action.ts"
import { CommonActionFields } from "../../pipeline/document.ts"
import { byName, fenced, fieldsOf, fieldTable, generatedNote, pageOf, table } from "../markdown.ts"

/** Texts by path. */
export function actionPages(actions: readonly AnyAction[]): Record<string, string> {
  const sorted = byName(actions, ({ type }) => type)
  const rows = sorted.map(({ type, timing, summary }) => [`[\`${type}\`](actions/${type}.md)`, timing, summary])
  const index = pageOf([
    generatedNote("the action plugins' declarations"),
    "# Actions",
    "Action types of pipeline steps. `commit` actions are part of the event's commit, before the reply; `deferred` ones run after it from the durable queue, at least once.",
    table(["action", "timing", ""], rows),
    "## Fields of every action",
    fieldTable(fieldsOf(CommonActionFields)),
  ])
  return {
    "docs/reference/actions.md": index,
    ...Object.fromEntries(sorted.map((one) => [`docs/reference/actions/${one.type}.md`, page(one)])),
  }
}

const timings = {
  commit: "**Timing:** `commit`. It runs before the reply, and its writes are part of the event's commit.",
  deferred: "**Timing:** `deferred`. It runs after the reply from the durable queue, or before it with `await: true`.",
} as const

const idempotencyTexts = {
  exactly_once: "**Run again** after a crash, or in a replay, it has no further effect.",
  idempotency_key:
    "**Run again** after a crash, or in a replay, it acts again with the same idempotency key, by which the receiver detects the repeat.",
} as const

function page(action: AnyAction): string {
  const { type, summary, description, timing, idempotency, config, examples, rules = {} } = action
  const ids = Object.keys(rules).sort()
  return pageOf([
    generatedNote("the action's declaration"),
    `# ${type}`,
    [summary, description].filter(Boolean).join(" "),
    timings[timing],
    ...(idempotency === undefined ? [] : [idempotencyTexts[idempotency]]),
    "## Fields",
    fieldTable(fieldsOf(config)),
    "In addition, it has the [fields of every action](../actions.md#fields-of-every-action).",
    "## Result",
    `As \`steps.<id>\` shows it: ${resultOf(action)}.`,
    "## Examples",
    ...examples.flatMap(({ title, yaml }) => [`${title}:`, fenced("yaml", yaml.trim())]),
    ...(ids.length === 0
      ? []
      : ["## Rules of its own", ids.map((id) => `- [${id}](../../rules/${id}.md): ${rules[id]?.summary ?? ""}`).join("\n")]),
  ])
}

function resultOf(action: AnyAction): string {
  const fields = fieldsOf(action.result, { io: "output" })
  return fields.length === 0 ? "nothing" : fields.map(({ name, type }) => `\`${name}\` (${type})`).join(", ")
}
