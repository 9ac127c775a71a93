// The worker thread that renders what is too much for the main thread: compiles the template again (it is text), renders
// it within the units that are left, and says what they were. Ended from outside where it takes too long.
import { parentPort } from "node:worker_threads"
import { AppError } from "../../kernel/errors.ts"
import type { TemplateScope } from "../graph.ts"
import { compileExpression, type Source } from "./expression.ts"
import { meter } from "./meter.ts"
import { compileText } from "./text.ts"

export interface RenderTask {
  readonly source: Pick<Source, "kind" | "text">
  /** JSON of the parts of the scope that the template reads. */
  readonly scope: string
  readonly units: number
  readonly output: number
}

export interface RenderAnswer {
  /** JSON text; absent when rendering failed. */
  readonly value?: string
  readonly units: number
  readonly output: number
  /** Why it failed; empty when the units ran out. */
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
