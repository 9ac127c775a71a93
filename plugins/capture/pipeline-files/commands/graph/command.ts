// `millrace pipelines graph`: the compiled graph as text for the terminal or as Mermaid for documents.
import { styleText } from "node:util"
import { openCompiler, print } from "#core/commands"
import { type CommandContext, type Graph, PipelineDocument, type Step } from "#core/engine"
import { readText, shownPath } from "../files.ts"
import { formatFindings } from "../finding-formats.ts"
import { placedIn } from "../validate.ts"

export async function graph(
  { format }: { format: "text" | "mermaid" },
  { args: [file = ""], config, root, terminal, end }: CommandContext,
): Promise<undefined> {
  const text = readText(file)
  const compiler = await openCompiler({ config: config(), root, env: terminal.env })
  try {
    const { compilation, document } = await compiler.compile(text)
    if (!compilation.ok) {
      const findings = compilation.findings.map((one) => placedIn(text, one))
      print(terminal, formatFindings([{ path: shownPath(file), ok: false, findings }], "text"))
      return void end(1)
    }
    const { name } = PipelineDocument.parse(document)
    print(terminal, format === "mermaid" ? mermaid(compilation.graph) : graphText(name, compilation.graph))
  } finally {
    await compiler.stop()
  }
}

function mermaid({ immediate, deferred, handlers }: Graph): string {
  const all = [...immediate, ...deferred, ...handlers.values()]
  const lines = ["flowchart TD", "  event([event])", "  reply([commit and reply])"]
  lines.push(...box("before", "before the reply", immediate), ...box("after", "after the reply", deferred))
  lines.push(...box("failing", "when a step fails", [...handlers.values()], sideOf))
  for (const step of [...immediate, ...deferred]) {
    const inList = step.needs.filter((need) => all.some(({ id }) => id === need))
    if (inList.length === 0) lines.push(`  ${step.deferred ? "reply" : "event"} --> ${nameOf(step.id)}`)
    for (const need of inList) lines.push(`  ${nameOf(need)} --> ${nameOf(step.id)}`)
  }
  const last = immediate.filter(({ id }) => !immediate.some(({ needs }) => needs.includes(id)))
  for (const { id } of last) lines.push(`  ${nameOf(id)} --> reply`)
  if (immediate.length === 0) lines.push("  event --> reply")
  for (const { id, onError } of all) if (typeof onError === "object") lines.push(`  ${nameOf(id)} -. fails .-> ${nameOf(onError.handler)}`)
  return lines.join("\n")
}

function box(id: string, title: string, steps: readonly Step[], more = (_step: Step) => ""): string[] {
  if (steps.length === 0) return []
  return [
    `  subgraph ${id}["${title}"]`,
    ...steps.map((step) => `    ${nameOf(step.id)}["${step.id}<br/>${step.action.type}${marks(step)}${more(step)}"]`),
    "  end",
  ]
}

function sideOf({ deferred }: Step): string {
  return deferred ? "<br/>(after the reply)" : "<br/>(before the reply)"
}

function marks({ when, forEach }: Step): string {
  return `${when ? "<br/>(conditional)" : ""}${forEach ? "<br/>(for each)" : ""}`
}

/** Adds a prefix because some IDs, such as `end`, are keywords of Mermaid. */
function nameOf(id: string): string {
  return `s_${id}`
}

// A graph for the terminal: steps in their possible order, split at the reply, with the dependencies of each step.

function graphText(name: string, graph: Graph): string {
  const handlers = new Set(graph.handlers.values())
  const width = Math.max(5, ...[...graph.byId.values()].map(({ id }) => id.length))
  const section = (title: string, steps: readonly Step[], startOf = beginning) =>
    steps.length === 0
      ? [`${styleText("bold", title)}`, "  (nothing)"]
      : [styleText("bold", title), ...steps.map((step) => stepLine(step, width, startOf(step)))]
  const responds = graph.immediate.filter(({ action }) => action.type === "respond").map(({ id }) => id)
  const reply = responds.length === 0 ? "200, the default answer" : `given by ${responds.join(", ")}`
  const lines = [
    styleText("bold", name),
    "",
    ...section("before the reply", graph.immediate),
    "",
    `${styleText("bold", "commit and reply")}  ${reply}`,
    "",
    ...section("after the reply", graph.deferred),
  ]
  if (handlers.size > 0) lines.push("", ...section("when a step fails", [...handlers], (handler) => handling(handler, graph)))
  return lines.join("\n")
}

function beginning({ needs }: Step): string {
  return needs.length > 0 ? `after ${needs.join(", ")}` : "at once"
}

/** Returns the start condition of a handler: a failed step. A handler has its own side of the reply. */
function handling({ id, deferred }: Step, { immediate, deferred: later }: Graph): string {
  const served = [...immediate, ...later].flatMap((step) =>
    typeof step.onError === "object" && step.onError.handler === id ? [step.id] : [],
  )
  return `${deferred ? "after the reply" : "before the reply"}, when ${served.join(" or ") || "no step"} fails`
}

function stepLine({ id, action, when, forEach, onError }: Step, width: number, start: string): string {
  const notes = [
    start,
    ...(when ? ["conditional"] : []),
    ...(forEach ? ["for each element"] : []),
    ...(onError === "fail" ? [] : [onError === "continue" ? "continues when it fails" : `${onError.handler} when it fails`]),
  ]
  return `  ${id.padEnd(width)}  ${action.type.padEnd(16)}  ${styleText("dim", notes.join("; "))}`
}
