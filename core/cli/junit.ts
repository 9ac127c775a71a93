// Test results as JUnit XML, for build servers.

export interface JunitCase {
  readonly name: string
  /** Parent of the case, such as a file or a suite. */
  readonly of: string
  /** Location of the case. */
  readonly file?: string
  readonly line?: number
  readonly milliseconds?: number
  /** `failure`: a wrong result; `error`: the case could not run; absent: passed. */
  readonly outcome?: { readonly kind: "failure" | "error"; readonly message: string; readonly text: string } | { readonly kind: "skipped" }
}

export interface JunitSuite {
  readonly name: string
  readonly cases: readonly JunitCase[]
  readonly milliseconds?: number
}

export function junitXml(suites: readonly JunitSuite[]): string {
  const all = suites.flatMap(({ cases }) => cases)
  const head = `<testsuites ${counts(all)} skipped="${countOf(all, "skipped")}">`
  return ['<?xml version="1.0" encoding="UTF-8"?>', head, ...suites.map(suiteXml), "</testsuites>", ""].join("\n")
}

function suiteXml({ name, cases, milliseconds }: JunitSuite): string {
  return [`  <testsuite name="${escaped(name)}" ${counts(cases)}${time(milliseconds)}>`, ...cases.map(caseXml), "  </testsuite>"].join("\n")
}

function caseXml({ name, of, file, line, milliseconds, outcome }: JunitCase): string {
  const place = `${file === undefined ? "" : ` file="${escaped(file)}"`}${line === undefined ? "" : ` line="${line}"`}`
  const open = `    <testcase name="${escaped(name)}" classname="${escaped(of)}"${place}${time(milliseconds)}`
  if (outcome === undefined) return `${open}/>`
  if (outcome.kind === "skipped") return `${open}><skipped/></testcase>`
  const { kind, message, text } = outcome
  return `${open}><${kind} message="${escaped(message)}">${escaped(text)}</${kind}></testcase>`
}

function counts(cases: readonly JunitCase[]): string {
  return `tests="${cases.length}" failures="${countOf(cases, "failure")}" errors="${countOf(cases, "error")}"`
}

function countOf(cases: readonly JunitCase[], kind: "failure" | "error" | "skipped"): number {
  return cases.filter(({ outcome }) => outcome?.kind === kind).length
}

function time(milliseconds: number | undefined): string {
  return milliseconds === undefined ? "" : ` time="${(milliseconds / 1_000).toFixed(3)}"`
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are removed.
const controls = /\u001B\[[0-9;]*m|[\u0000-\u0008\u000B\u000C\u000E-\u001F]/g

function escaped(text: string): string {
  const plain = text.toWellFormed().replace(controls, "")
  return plain.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")
}
