// `millrace pipelines test`: runs tests with the real engine, without a server or network. Exit codes: 0 if all tests passed, 1
// if a test failed, 2 if a file could not run.
import { existsSync, statSync, watch, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { isStartedAgain, type LocalCompiler, openCompiler, print, printError, Rehearsal, startedAgain, type Terminal } from "#core/commands"
import type { CommandContext } from "#core/engine"
import { findFiles, folderOf, shownPath, tellPassedOver } from "../files.ts"
import { junit, testReport, totalsOf } from "./report.ts"
import { type FileResult, runTestFile } from "./run-tests.ts"

export async function test(
  options: { watch?: boolean; junit?: string },
  { args: given, config, root, terminal, end }: CommandContext,
): Promise<undefined> {
  const settings = config()
  const plugins = settings.plugins.paths.map((path) => resolve(root, path)).filter((path) => existsSync(path))
  if (options.watch && plugins.length > 0 && !isStartedAgain())
    return void end(await startedAgain({ folders: plugins, command: process.argv.slice(1) }))
  // Otherwise threads and child processes would mix reports of their imports into their own messages.
  delete process.env["WATCH_REPORT_DEPENDENCIES"]
  const wanted = { given, configured: settings.pipelines.paths, kind: "test" } as const
  tellPassedOver(wanted, terminal)
  const files = () => findFiles(wanted)
  if (!options.watch && files().length === 0) {
    printError(terminal, "No *.test.yaml files to run.")
    return void end(2)
  }
  const compiler = await openCompiler({ config: settings, root, env: terminal.env })
  const rehearsal = await Rehearsal.open({ config: settings, root })
  const named = given.length > 0 ? given : settings.pipelines.paths.map(folderOf)
  const changes = new Changes()
  // Watch before the search, so changes during the first run start another run.
  if (options.watch) changes.watch(foldersOf(named))
  try {
    const results = await runAll(files(), rehearsal, compiler)
    print(terminal, testReport(results))
    if (options.junit !== undefined) writeFileSync(options.junit, junit(results))
    end(exitCodeOf(results))
    if (options.watch) await watchAndRun({ first: results, changes, files, rehearsal, compiler, terminal })
  } finally {
    changes.stop()
    await rehearsal.stop()
    await compiler.stop()
  }
}

function exitCodeOf(results: readonly FileResult[]): number {
  const { failed, unreadable } = totalsOf(results)
  return unreadable > 0 ? 2 : failed > 0 ? 1 : 0
}

async function runAll(files: readonly string[], rehearsal: Rehearsal, compiler: LocalCompiler): Promise<FileResult[]> {
  const results: FileResult[] = []
  for (const file of files) results.push(await runTestFile(file, rehearsal, compiler, shownPath(file)))
  return results
}

/** Returns folders that may receive new tests: the named folders, and the folders of the named files. */
function foldersOf(named: readonly string[]): string[] {
  return named.map((path) => (statSync(path, { throwIfNoEntry: false })?.isDirectory() ? resolve(path) : dirname(resolve(path))))
}

interface Watched {
  readonly first: readonly FileResult[]
  readonly changes: Changes
  readonly files: () => string[]
  readonly rehearsal: Rehearsal
  readonly compiler: LocalCompiler
  readonly terminal: Terminal
}

/** Runs until stopped. A change reruns only the affected files. */
async function watchAndRun({ first, changes, files, rehearsal, compiler, terminal }: Watched): Promise<void> {
  const known = new Map(first.map((result) => [result.path, result]))
  changes.watch(first.flatMap((result) => result.sources).map((file) => dirname(file)))
  terminal.stopped?.().addEventListener("abort", () => changes.stop())
  print(terminal, "\nWatching; Ctrl-C stops it.")
  for (;;) {
    const changed = await changes.next()
    if (!changed) return
    const concerned = files().filter((file) => {
      const sources = known.get(shownPath(file))?.sources ?? [file]
      return sources.some((source) => changed.has(source))
    })
    if (concerned.length === 0) continue
    const results = await runAll(concerned, rehearsal, compiler)
    for (const result of results) known.set(result.path, result)
    print(terminal, `\n${testReport(results)}`)
  }
}

// Collects changes in folders for `test --watch`. Changes between two calls of `next` are also reported.

/** Editors write a file in several steps. */
const settledMs = 50

export class Changes {
  readonly #folders = new Set<string>()
  readonly #changed = new Set<string>()
  readonly #stop = new AbortController()
  #due = false
  #wake = () => {}

  /** Also watches these folders. Skips missing folders. */
  watch(folders: Iterable<string>): void {
    for (const folder of folders) {
      if (this.#folders.has(folder) || !existsSync(folder)) continue
      this.#folders.add(folder)
      watch(folder, { signal: this.#stop.signal }, (_event, name) => {
        if (name === null) return
        this.#changed.add(join(folder, name))
        setTimeout(() => this.#ring(), settledMs)
      })
    }
  }

  /** Waits for changes. Returns the files changed since the last call, or undefined after a stop. */
  async next(): Promise<ReadonlySet<string> | undefined> {
    while (!this.#due && !this.#stop.signal.aborted) await new Promise<void>((resolve) => (this.#wake = resolve))
    if (this.#stop.signal.aborted) return undefined
    this.#due = false
    const files = new Set(this.#changed)
    this.#changed.clear()
    return files
  }

  stop(): void {
    this.#stop.abort()
    this.#wake()
  }

  #ring(): void {
    this.#due = true
    this.#wake()
  }
}
