// Applies changed pipeline files at once during development. An invalid file is reported, and the previous version remains.
import { type FSWatcher, watch } from "node:fs"
import { join } from "node:path"
import { AppError, type Logger } from "#core"
import type { Finding } from "#core/engine"
import type { Organization } from "../pipelines/index.ts"
import { type ApplyDeps, applyFile, describeFindings, pipelineFiles, type ReadFile, readPipelineFile } from "./files.ts"

export interface WatchArgs extends ApplyDeps {
  readonly folders: readonly string[]
  readonly root: string
  readonly organization: Organization
  /** Changes are recorded from the start, and applied after this promise resolves. */
  readonly after: Promise<void>
}

/** Editors write a file in several steps. Events within this time count as one change. */
const settleMs = 50

export class PipelineWatch {
  readonly #args: WatchArgs
  readonly #watchers: FSWatcher[]
  readonly #waiting = new Map<string, NodeJS.Timeout>()
  #work: Promise<void>

  constructor(args: WatchArgs) {
    this.#args = args
    this.#work = args.after
    this.#watchers = args.folders.map((folder) =>
      watch(folder, (_event, name) => {
        if (name !== null) this.#soon(join(folder, name), folder)
      }),
    )
    for (const watcher of this.#watchers) watcher.on("error", (err) => args.log.warn({ err }, "a folder of pipelines is no longer watched"))
  }

  /** Waits for the apply in progress. */
  async stop(): Promise<void> {
    for (const watcher of this.#watchers) watcher.close()
    for (const timer of this.#waiting.values()) clearTimeout(timer)
    this.#waiting.clear()
    await this.#work
  }

  #soon(file: string, folder: string): void {
    clearTimeout(this.#waiting.get(file))
    const timer = setTimeout(() => {
      this.#waiting.delete(file)
      // Ignore removed files, tests and an editor's temporary files.
      if (!pipelineFiles([folder]).includes(file)) return
      // Apply sequentially: two changes of one file must not race.
      this.#work = this.#work.then(() => this.#apply(file))
    }, settleMs)
    this.#waiting.set(file, timer)
  }

  async #apply(file: string): Promise<void> {
    const { root, organization, log } = this.#args
    try {
      const read = readPipelineFile(file, process.env, root)
      if ("findings" in read) return reportRefused(log, read.path, describeFindings(read))
      await applyFile(organization, read, this.#args).catch((error: unknown) => reportRefused(log, read.path, refusalOf(read, error)))
    } catch (err) {
      log.error({ err, file }, "a changed pipeline file could not be applied; the previous version stays")
    }
  }
}

/** Logs a refused file with all its problems. */
export function reportRefused(log: Logger, path: string, problems: readonly string[]): void {
  log.warn({ problems }, `${path} is not valid, and the previous version stays.`)
}

/** Returns the problems of a refused file, one line each, with text positions. Rethrows other errors. */
export function refusalOf(read: ReadFile, error: unknown): string[] {
  if (!(error instanceof AppError) || error.code === "unavailable") throw error
  const given = error.details["findings"]
  const errors = Array.isArray(given) ? (given as Finding[]).filter(({ level }) => level === "error") : []
  const findings = errors.map((finding) => ({ ...finding, ...read.locate(finding.pointer) }))
  return findings.length > 0 ? describeFindings({ path: read.path, findings }) : [`${read.path}: ${error.message}`]
}
