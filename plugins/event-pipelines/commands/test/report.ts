// Test results for people, with differences that can be read, and as JUnit XML for build servers.

import { styleText } from "node:util"
import type { Difference } from "#core/commands"
import { counted, formatFindings } from "../finding-formats.ts"
import { lineDiff, yamlLines } from "../line-diff.ts"
import type { FileResult, TestResult } from "./run-tests.ts"

export interface Totals {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  /** Files that could not be run. */
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

/** The place, then what was expected (-) and what there is (+). */
export function shownDifference({ at, expected, actual, note }: Difference): string {
  const head = `${note === undefined ? at : `${at} (${note})`}: - expected, + seen`
  const lines = lineDiff(yamlLines(expected), yamlLines(actual))
  return [head, ...lines.map((line) => `  ${line}`)].join("\n")
}

export function junit(files: readonly FileResult[]): string {
  const { failed, skipped, unreadable } = totalsOf(files)
  const count = files.flatMap((file) => file.results).length
  const suites = files.map((file) => suite(file))
  const totals = `tests="${count}" failures="${failed}" errors="${unreadable}" skipped="${skipped}"`
  return ['<?xml version="1.0" encoding="UTF-8"?>', `<testsuites ${totals}>`, ...suites, "</testsuites>", ""].join("\n")
}

function suite({ path, results, problems, milliseconds }: FileResult): string {
  const head = `tests="${results.length}" failures="${results.filter((one) => !one.ok).length}" errors="${problems.length > 0 ? 1 : 0}" time="${seconds(milliseconds)}"`
  const cases = results.map((result) => {
    const open = `    <testcase name="${escaped(result.name)}" classname="${escaped(path)}" file="${escaped(path)}" line="${result.line}" time="${seconds(result.milliseconds)}"`
    if (result.skipped) return `${open}><skipped/></testcase>`
    if (result.ok) return `${open}/>`
    const text = [...(result.fault === undefined ? [] : [result.fault]), ...result.said, ...result.differences.map(shownDifference)].join(
      "\n",
    )
    const summary = result.fault ?? result.differences.map(({ at }) => at).join(", ")
    return `${open}><failure message="${escaped(summary)}">${escaped(unstyled(text))}</failure></testcase>`
  })
  const problem = problems.map(
    (one) =>
      `    <testcase name="${escaped(one.path)}" classname="${escaped(path)}"><error message="cannot be run">${escaped(unstyled(formatFindings([one], "text")))}</error></testcase>`,
  )
  return [`  <testsuite name="${escaped(path)}" ${head}>`, ...cases, ...problem, "  </testsuite>"].join("\n")
}

function seconds(milliseconds: number): string {
  return (milliseconds / 1_000).toFixed(3)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is taken out.
const controls = /\u001B\[[0-9;]*m|[\u0000-\u0008\u000B\u000C\u000E-\u001F]/g

function unstyled(text: string): string {
  return text.replace(controls, "")
}

function escaped(text: string): string {
  return unstyled(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")
}
