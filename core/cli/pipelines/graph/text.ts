// A graph for the terminal: the steps in the order in which they can run, split at the reply, with what each waits for.
import { styleText } from "node:util"
import type { Graph, Step } from "../../../pipeline/graph.ts"

export function graphText(name: string, graph: Graph): string {
  const handlers = new Set(graph.handlers.values())
  const width = Math.max(5, ...[...graph.byId.values()].map(({ id }) => id.length))
  const section = (title: string, steps: readonly Step[]) =>
    steps.length === 0
      ? [`${styleText("bold", title)}`, "  (nothing)"]
      : [styleText("bold", title), ...steps.map((step) => stepLine(step, width))]
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
  if (handlers.size > 0) lines.push("", ...section("when a step fails", [...handlers]))
  return lines.join("\n")
}

function stepLine({ id, action, needs, when, forEach, onError }: Step, width: number): string {
  const notes = [
    needs.length > 0 ? `after ${needs.join(", ")}` : "at once",
    ...(when ? ["conditional"] : []),
    ...(forEach ? ["for each element"] : []),
    ...(onError === "fail" ? [] : [onError === "continue" ? "goes on when it fails" : `${onError.handler} when it fails`]),
  ]
  return `  ${id.padEnd(width)}  ${action.type.padEnd(16)}  ${styleText("dim", notes.join("; "))}`
}
