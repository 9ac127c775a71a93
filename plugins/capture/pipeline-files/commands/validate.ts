// `millrace pipelines validate`: compiles files without a service and reports all findings.

import { writeFileSync } from "node:fs"
import { allDone, CommandProblem } from "#core"
import { type LocalCompiler, openCompiler, print, type Terminal } from "#core/commands"
import { type CommandContext, codeFrame, type FileAmongOthers, type Finding, parseText } from "#core/engine"
import { findFiles, readText, shownPath, tellPassedOver } from "./files.ts"
import { type FindingFormat, formatFindings } from "./finding-formats.ts"

export interface PlacedFinding extends Finding {
  readonly line: number
  readonly column: number
  readonly frame: string
}

export interface CheckedFile {
  readonly path: string
  readonly ok: boolean
  readonly findings: readonly PlacedFinding[]
}

/** Files compiled concurrently: other documents compile here while the sandbox's child process compiles a schema. */
const atOnce = 24

/** Returns each file with its findings in line order, followed by findings across several files. */
export async function validateFiles(files: readonly string[], compiler: LocalCompiler): Promise<CheckedFile[]> {
  const compiled: (CheckedFile & FileAmongOthers)[] = []
  const left = files.entries()
  const compileNext = async () => {
    for (const [index, file] of left) compiled[index] = await compileFile(file, compiler)
  }
  await allDone(Array.from({ length: atOnce }, compileNext))
  const across = compiler.across(compiled)
  return compiled.map(({ path, ok, findings }, index) => {
    const more = across[index] ?? []
    if (more.length === 0) return { path, ok, findings }
    const text = readText(files[index] ?? "")
    const { locate } = parseText(text)
    const placed = more.map((finding) => placedIn(text, { ...finding, ...locate(finding.pointer) }))
    return { path, ok: ok && more.every(({ level }) => level !== "error"), findings: [...findings, ...placed] }
  })
}

async function compileFile(file: string, compiler: LocalCompiler): Promise<CheckedFile & FileAmongOthers> {
  const text = readText(file)
  const { compilation, document } = await compiler.compile(text)
  const graph = compilation.ok ? compilation.graph : undefined
  return {
    path: shownPath(file),
    ok: compilation.ok,
    findings: compilation.findings.map((finding) => placedIn(text, finding)),
    document,
    // A whole graph per file would stay in memory until the last file is read.
    graph: graph && { upserts: graph.upserts, writesTo: graph.writesTo },
  }
}

export function placedIn(text: string, finding: Finding): PlacedFinding {
  const { line = 1, column = 1 } = finding
  return { ...finding, line, column, frame: codeFrame(text, { line, column }) }
}

/** `millrace pipelines validate`: finds the files and writes the report. */
export async function validate(
  options: { format: FindingFormat; output?: string },
  { args: given, config, root, terminal, end }: CommandContext,
): Promise<undefined> {
  const settings = config()
  const wanted = { given, configured: settings.pipelines.paths, kind: "pipeline" } as const
  tellPassedOver(wanted, terminal)
  const files = findFiles(wanted)
  if (files.length === 0) throw new CommandProblem(`No pipeline files are in ${wanted.configured.join(", ")}.`, 2)
  const compiler = await openCompiler({ config: settings, root, env: terminal.env })
  try {
    const checked = await validateFiles(files, compiler)
    report(formatFindings(checked, options.format), options.output, terminal)
    end(checked.every((file) => file.ok) ? 0 : 1)
  } finally {
    await compiler.stop()
  }
}

function report(text: string, file: string | undefined, terminal: Terminal): void {
  try {
    if (file === undefined) print(terminal, text)
    else writeFileSync(file, `${text}\n`)
  } catch (error) {
    throw new CommandProblem(`The report cannot be written to ${file}: ${(error as Error).message}`, 2)
  }
}
