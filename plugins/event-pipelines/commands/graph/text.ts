// A graph for the terminal: the steps in the order in which they can run, split at the reply, with what each waits for.

import { styleText } from "node:util"
import type { Graph, Step } from "#core/engine"

export function graphText(name: string, graph: Graph): string {
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

/** A handler waits for a step to fail, and has its own side of the reply. */
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
