// The dedupe key, compiled: it is rendered before schema and transform, so it sees the parsed body, the query, the
// headers and what the auth mode lifted, and nothing else.
import type { z } from "zod"
import type { Dedupe } from "../document.ts"
import type { Graph } from "../graph.ts"
import { textOf } from "../template/liquid.ts"
import { compileJson, type PlacedRead } from "../template.ts"
import type { Report } from "./report.ts"

export interface CompiledDedupe {
  readonly dedupe: NonNullable<Graph["dedupe"]>
  readonly reads: readonly PlacedRead[]
}

const unitMs: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

export function compileDedupe(given: z.infer<typeof Dedupe>, report: Report): CompiledDedupe | undefined {
  const pointer = "/dedupe/key"
  const { evaluate, reads, problems } = compileJson(given.key, pointer)
  for (const problem of problems) report.add("invalid-template", pointer, problem.message)
  if (problems.length > 0) return undefined
  if (!evaluate || reads.length === 0) {
    report.add("constant-dedupe-key", pointer, "This key is the same for every event, so only the first would run. Use a template.")
    return undefined
  }
  return { dedupe: { key: (scope) => textOf(evaluate(scope)), windowMs: windowMsOf(given.window) }, reads }
}

/** A number is seconds; text is a number and a unit. */
function windowMsOf(window: string | number): number {
  if (typeof window === "number") return window * 1_000
  return Number(window.slice(0, -1)) * (unitMs[window.slice(-1)] ?? 1_000)
}
