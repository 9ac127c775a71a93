// Formats test results as text with differences, and as JUnit XML for build servers.
import { styleText } from "node:util"
import { type Difference, type JunitCase, type JunitSuite, junitXml } from "#core/commands"
import { counted, formatFindings } from "../finding-formats.ts"
import { lineDiff, yamlLines } from "../line-diff.ts"
import type { FileResult, TestResult } from "./run-tests.ts"

export interface Totals {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  /** Number of files that could not run. */
  readonly unreadable: number
}

export function totalsOf(files: readonly FileResult[]): Totals {
  const results = files.flatMap((file) => file.results)
  const skipped = results.filter((one) => one.skipped).length
  const failed = results.filter((one) => !one.ok).length
  return { passed: results.length - skipped - failed, failed, skipped, unreadable: files.filter((file) => file.problems.length > 0).length }
}

export function testReport(files: readonly FileResult[]): string {
  const { passed, failed, skipped, unreadable } = totalsOf(files)
  const counts = [`${passed} passed`, ...(failed > 0 ? [`${failed} failed`] : []), ...(skipped > 0 ? [`${skipped} skipped`] : [])]
  if (unreadable > 0) counts.push(`${counted(unreadable, "file")} could not be run`)
  const colour = failed + unreadable > 0 ? "red" : "green"
  return [...files.map(fileReport), "", styleText(colour, counts.join(", "))].join("\n")
}

function fileReport({ path, results, problems, notes, milliseconds }: FileResult): string {
  const head = `${styleText("bold", path)} ${styleText("dim", `${Math.round(milliseconds)} ms`)}`
  if (problems.length > 0) return [head, formatFindings(problems, "text").replace(/^/gm, "  ")].join("\n")
  const remarks = notes.map((note) => `  ${styleText("yellow", `note: ${note}`)}`)
  return [head, ...results.map((result) => testLines(path, result)), ...remarks].join("\n")
}

function testLines(path: string, { name, line, ok, skipped, milliseconds, differences, fault, said }: TestResult): string {
  if (skipped) return `  ${styleText("dim", `- ${name}`)}`
  const took = styleText("dim", `${Math.round(milliseconds)} ms`)
  if (ok) return `  ${styleText("green", "✓")} ${name} ${took}`
  const head = `  ${styleText("red", "✗")} ${name} ${styleText("dim", `${path}:${line}`)}`
  const details = [
    ...(fault === undefined ? [] : [fault]),
    ...said.map((line) => styleText("yellow", line)),
    ...differences.map(shownDifference),
  ]
  return [head, ...details.map((text) => text.replace(/^/gm, "      "))].join("\n")
}

/** Returns the place, the expected lines (-) and the actual lines (+). */
function shownDifference({ at, expected, actual, note }: Difference): string {
  const head = `${note === undefined ? at : `${at} (${note})`}: - expected, + seen`
  const lines = lineDiff(yamlLines(expected), yamlLines(actual))
  return [head, ...lines.map((line) => `  ${line}`)].join("\n")
}

export function junit(files: readonly FileResult[]): string {
  return junitXml(files.map(suite))
}

function suite({ path, results, problems, milliseconds }: FileResult): JunitSuite {
  const cases = results.map((result) => ({
    name: result.name,
    of: path,
    file: path,
    line: result.line,
    milliseconds: result.milliseconds,
    ...outcomeOf(result),
  }))
  const unrun = problems.map((one) => {
    const text = formatFindings([one], "text")
    return { name: one.path, of: path, outcome: { kind: "error", message: "cannot be run", text } as const }
  })
  return { name: path, cases: [...cases, ...unrun], milliseconds }
}

function outcomeOf({ ok, skipped, fault, said, differences }: TestResult): Pick<JunitCase, "outcome"> {
  if (skipped) return { outcome: { kind: "skipped" } }
  if (ok) return {}
  const text = [...(fault === undefined ? [] : [fault]), ...said, ...differences.map(shownDifference)].join("\n")
  return { outcome: { kind: "failure", message: fault ?? differences.map(({ at }) => at).join(", "), text } }
}
