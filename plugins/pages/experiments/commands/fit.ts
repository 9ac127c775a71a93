// `millrace experiments fit`: ranks keys from a file of comparisons.
import { parse } from "csv-parse/sync"
import { z } from "zod"
import { CommandProblem } from "#core"
import { readGiven } from "#core/commands"
import { fieldProblems } from "#core/engine"
import type { Comparison } from "../statistics/ranking/comparisons.ts"
import { type Fit, fitRanking } from "../statistics/ranking/fit.ts"
import type { RankingModel } from "../statistics/ranking/strengths.ts"

interface FitOptions {
  readonly file: string
  readonly model: RankingModel
  readonly json?: boolean
}

const maxProblems = 10
/** Standard errors need time of its third power. */
const maxKeys = 1_000

const Key = z.string().min(1).max(200)
const FitInput = z
  .strictObject({
    a: Key,
    b: Key,
    winner: z.enum(["a", "b", "tie"]),
    count: z.number().int().min(1).max(1e9).default(1),
  })
  .refine(({ a, b }) => a !== b, "Compare two keys: a and b are the same.")

export function fitFile({ file, model, json = false }: FitOptions): string {
  const comparisons = readComparisons(readGiven(file, { orInput: true }).toString("utf8"), file)
  const result = fitRanking(comparisons, model)
  return json ? JSON.stringify(result, undefined, 2) : textOf(result)
}

function readComparisons(text: string, file: string): Comparison[] {
  const rows = text.trimStart().startsWith("[") ? fromJson(text, file) : fromCsv(text, file)
  const problems: string[] = []
  const comparisons = rows.flatMap((row, index) => {
    const read = FitInput.safeParse(row)
    if (read.success) return [read.data]
    for (const { path, message } of fieldProblems({ schema: FitInput, value: row, issues: read.error.issues }))
      problems.push(`comparison ${index + 1}${path === "" ? "" : `, ${path}`}: ${message}`)
    return []
  })
  if (problems.length > 0) {
    const more = problems.length > maxProblems ? [`and ${problems.length - maxProblems} more`] : []
    const count = problems.length === 1 ? "a problem" : `${problems.length} problems`
    throw new CommandProblem([`${file} has ${count}:`, ...problems.slice(0, maxProblems), ...more].join("\n  "))
  }
  if (comparisons.length === 0) throw new CommandProblem(`${file} has no comparisons.`)
  const keys = new Set(comparisons.flatMap(({ a, b }) => [a, b])).size
  if (keys > maxKeys) throw new CommandProblem(`${file} compares ${keys} keys; at most ${maxKeys} can be fitted.`)
  return comparisons
}

function fromJson(text: string, file: string): unknown[] {
  try {
    return JSON.parse(text) as unknown[]
  } catch (error) {
    throw new CommandProblem(`${file} is not valid JSON: ${(error as Error).message}`)
  }
}

function fromCsv(text: string, file: string): unknown[] {
  try {
    const rows: Record<string, string>[] = parse(text, { bom: true, columns: true, skip_empty_lines: true, trim: true })
    return rows.map(({ count = "", ...row }) => (count === "" ? row : { ...row, count: Number(count) }))
  } catch (error) {
    throw new CommandProblem(`${file} is neither a JSON array nor valid CSV: ${(error as Error).message}`)
  }
}

function textOf({ ranking, tie_parameter, regularised, converged, iterations }: Fit): string {
  const width = Math.max(3, ...ranking.map(({ key }) => key.length))
  const number = (value: number) => value.toFixed(3).padStart(8)
  const lines = ranking.map(
    ({ rank, key, strength, se, score }) =>
      `${String(rank).padStart(4)}  ${key.padEnd(width)}  ${number(strength)}  ${number(se)}  ${number(score)}`,
  )
  return [
    `rank  ${"key".padEnd(width)}  strength        se     score`,
    ...lines,
    ...(tie_parameter === undefined ? [] : [`Tie parameter: ${tie_parameter.toFixed(3)}.`]),
    ...(regularised
      ? ["Regularised: a key won or lost everything, or the keys fall apart into groups that were not compared with each other."]
      : []),
    ...(converged ? [] : [`Not converged after ${iterations} iterations.`]),
  ].join("\n")
}
