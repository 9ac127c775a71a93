// `millrace pipelines test`: the real engine, without a server and a network. Exit code 0 when all passed, 1 when a test
// failed, 2 when a file could not be run.
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
  // Threads and children would report what they import among their own messages.
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
  // Before they are looked for: what changes during the first run is run again.
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

/** Where a test may come to be that is not there yet: the folders named, and those of the files named. */
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

/** Runs until stopped. Runs only the files again that a change concerns. */
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

// What changes in some folders, for `test --watch`: nothing is lost that changes while nobody waits for it.

/** Editors write a file in several steps. */
const settledMs = 50

export class Changes {
  readonly #folders = new Set<string>()
  readonly #changed = new Set<string>()
  readonly #stop = new AbortController()
  #due = false
  #wake = () => {}

  /** Looks at these folders too from now on; passes over what is not there. */
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

  /** The files that have changed since it was asked last, as soon as there are some; undefined once it was stopped. */
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
