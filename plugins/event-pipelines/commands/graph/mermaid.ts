// A graph as a Mermaid flowchart.

import type { Graph, Step } from "#core/engine"
export function mermaid({ immediate, deferred, handlers }: Graph): string {
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

/** Some ids, such as `end`, are words of Mermaid's own. */
function nameOf(id: string): string {
  return `s_${id}`
}
