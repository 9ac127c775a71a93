// Reads a test file and its pipelines. Problems of all files are returned as findings with their places.
import { existsSync } from "node:fs"
import { dirname, join } from "node:path"
import { CommandProblem } from "#core"
import { type LocalCompiler, TestFile } from "#core/commands"
import { PipelineDocument, type PlacedRead, parseText } from "#core/engine"
import { readText, shownPath } from "../files.ts"
import { type CheckedFile, placedIn } from "../validate.ts"
import { fieldMistakes, mistakesIn } from "./mistakes.ts"

export interface ReadTests {
  readonly path: string
  readonly folder: string
  readonly tests: TestFile
  readonly pipeline: PipelineDocument
  /** Reads in the templates of `pipeline`. */
  readonly reads: readonly PlacedRead[]
  readonly others: readonly PipelineDocument[]
  /** Returns the line of a JSON pointer in the test file. */
  readonly lineOf: (pointer: string) => number
  /** Absolute paths of files that the tests depend on. */
  readonly sources: readonly string[]
}

export type Unreadable = { readonly problems: readonly CheckedFile[]; readonly sources: readonly string[] }

export async function readTestFile(file: string, compiler: LocalCompiler): Promise<ReadTests | Unreadable> {
  const path = shownPath(file)
  const text = textOf(file)
  if (typeof text !== "string") return { problems: [text.problem], sources: [file] }
  const { value, findings, locate } = parseText(text)
  if (value === undefined) return { problems: [{ path, ok: false, findings: findings.map((one) => placedIn(text, one)) }], sources: [file] }
  const parsed = TestFile.safeParse(value)
  const folder = dirname(file)
  const mistakes = parsed.success ? mistakesIn(parsed.data, folder) : fieldMistakes(parsed.error.issues, value)
  if (!parsed.success || mistakes.length > 0) {
    const placed = mistakes.map((one) => placedIn(text, { ...one, level: "error", ...locate(one.pointer) }))
    return { problems: [{ path, ok: false, findings: placed }], sources: [file, ...bodiesOf(parsed.data, folder)] }
  }
  const named = parsed.data.pipeline === undefined ? besideOf(file) : join(folder, parsed.data.pipeline)
  const pipelines = [named, ...parsed.data.with.map((other) => join(folder, other))]
  const sources = [...pipelines, ...bodiesOf(parsed.data, folder)]
  const read = await Promise.all(pipelines.map((source) => readPipeline(source, compiler)))
  const problems = read.flatMap((one) => ("problem" in one ? [one.problem] : []))
  const [first, ...rest] = read.flatMap((one) => ("document" in one ? [one] : []))
  if (problems.length > 0 || !first) return { problems, sources: [file, ...sources] }
  const lineOf = (pointer: string) => locate(pointer)?.line ?? 1
  const others = rest.map(({ document }) => document)
  return { path, folder, tests: parsed.data, pipeline: first.document, reads: first.reads, others, lineOf, sources: [file, ...sources] }
}

function bodiesOf(file: TestFile | undefined, folder: string): string[] {
  const events = (file?.tests ?? []).flatMap((test) => [test.event, ...(test.events ?? []).map(({ event }) => event)])
  return events.flatMap((event) => (event?.body_file === undefined ? [] : [join(folder, event.body_file)]))
}

/** Returns the pipeline file of a test file: `x.test.yaml` tests `x.yaml` or `x.json`. */
function besideOf(file: string): string {
  const stem = file.replace(/\.test\.(ya?ml|json)$/, "")
  return [".yaml", ".yml", ".json"].map((ending) => stem + ending).find((candidate) => existsSync(candidate)) ?? `${stem}.yaml`
}

/** Returns a pipeline's document, or its problems as a file with findings. */
async function readPipeline(file: string, compiler: LocalCompiler): Promise<ReadPipeline> {
  const path = shownPath(file)
  const text = textOf(file)
  return typeof text === "string" ? pipelineOf(path, text, compiler) : text
}

/** Returns the problem of an unreadable file. The other files still run. */
function textOf(file: string): string | { readonly problem: CheckedFile } {
  const path = shownPath(file)
  if (!existsSync(file)) return { problem: problemOf(path, "The file does not exist.") }
  try {
    return readText(file)
  } catch (error) {
    if (error instanceof CommandProblem) return { problem: problemOf(path, error.message) }
    throw error
  }
}

export type ReadPipeline =
  | { readonly document: PipelineDocument; readonly reads: readonly PlacedRead[] }
  | { readonly problem: CheckedFile }

export async function pipelineOf(path: string, text: string, compiler: LocalCompiler): Promise<ReadPipeline> {
  const { compilation, document } = await compiler.compile(text)
  if (compilation.ok) return { document: PipelineDocument.parse(document), reads: compilation.reads }
  return { problem: { path, ok: false, findings: compilation.findings.map((one) => placedIn(text, one)) } }
}

function problemOf(path: string, message: string): CheckedFile {
  return { path, ok: false, findings: [placedIn("", { rule: "invalid-syntax", level: "error", message, pointer: "" })] }
}
