// `millrace pipelines validate`: compiles files without a service and tells everything that is wrong with them.
import { allDone } from "#core"
import type { LocalCompiler } from "#core/commands"
import { codeFrame, type FileAmongOthers, type Finding, parseText } from "#core/engine"
import { readText, shownPath } from "./files.ts"

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

/** Under way at once: while the sandbox's child compiles one schema, the rest of other documents is compiled here. */
const atOnce = 24

/** Each file with its findings in the order of their lines, and then those that it has only beside the others. */
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
    // The whole graph would be held for every file until the last one is read.
    graph: graph && { upserts: graph.upserts, writesTo: graph.writesTo },
  }
}

export function placedIn(text: string, finding: Finding): PlacedFinding {
  const { line = 1, column = 1 } = finding
  return { ...finding, line, column, frame: codeFrame(text, { line, column }) }
}
