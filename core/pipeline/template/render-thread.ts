// Worker thread for renders that are too expensive for the main thread. It compiles the template again from text, renders it
// within the remaining units and returns the used units. The main thread ends it after a timeout.
import { parentPort } from "node:worker_threads"
import { AppError } from "../../kernel/errors.ts"
import type { TemplateScope } from "../graph.ts"
import { compileExpression, type Source } from "./expression.ts"
import { meter } from "./meter.ts"
import { compileText } from "./text.ts"

export interface RenderTask {
  readonly source: Pick<Source, "kind" | "text">
  /** JSON of the scope's parts that the template reads. */
  readonly scope: string
  readonly units: number
  readonly output: number
}

export interface RenderAnswer {
  /** JSON text. Absent if rendering failed. */
  readonly value?: string
  readonly units: number
  readonly output: number
  /** Error message. Empty if the units ran out. */
  readonly problem?: string
}

function answer({ source, scope, units, output }: RenderTask): RenderAnswer {
  const compiled = source.kind === "text" ? compileText(source.text) : compileExpression(source.text)
  if (!compiled.ok) return { problem: compiled.problems.join(" "), units: 0, output }
  try {
    meter.begin(units, output)
    const value = JSON.stringify(compiled.evaluate(JSON.parse(scope) as TemplateScope) ?? null)
    return { value, units: units - meter.left, output: meter.output }
  } catch (error) {
    if (meter.exceeded) return { problem: "", units, output }
    const problem = error instanceof AppError ? error.message : "The template cannot be rendered."
    return { problem, units: units - meter.left, output: meter.output }
  } finally {
    meter.end()
  }
}

parentPort?.on("message", ({ id, ...task }: RenderTask & { id: number }) => parentPort?.postMessage({ id, ...answer(task) }))
