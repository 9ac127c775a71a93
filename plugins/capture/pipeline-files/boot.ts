// At start, applies the shipped pipeline files and the user's. Until the first event, the greeting at start shows an example request.
import { existsSync } from "node:fs"
import { relative, resolve } from "node:path"
import { allDone, type Deps, Log, Settings, Store, UnitsOfWork } from "#core"
import { EntryCollection, Listening } from "#core/engine"
import { Organizations } from "../../platform/organizations/index.ts"
import { EventPipelines, type Organization } from "../pipelines/index.ts"
import { applyFile, describeFindings, pipelineFiles, readPipelineFile } from "./files.ts"
import { ignoredFiles } from "./pipeline-folder.ts"
import { PipelineWatch, refusalOf, reportRefused } from "./watch.ts"

/** Number of files applied concurrently. They share commits of the storage, and compile while others commit. */
const atOnce = 16

export class FilesAtBoot {
  static readonly inject = {
    settings: Settings,
    pipelines: EventPipelines,
    organizations: Organizations,
    works: UnitsOfWork,
    store: Store,
    log: Log,
    listening: Listening,
  }
  readonly #deps: Deps<typeof FilesAtBoot.inject>
  #watch: PipelineWatch | undefined

  constructor(deps: Deps<typeof FilesAtBoot.inject>) {
    this.#deps = deps
    deps.listening.onListening((baseUrl) => this.#greeting(baseUrl))
  }

  /** Throws one error with every problem of every file. With watching enabled, the problems are logged instead. */
  async start(): Promise<void> {
    const { settings, organizations } = this.#deps
    const root = process.cwd()
    const folders = settings.pipelines.paths.map((path) => folderOf(path, root))
    if (!settings.pipelines.watch) return this.#applyAll(folders, root)
    // Watch before the first read, so changes during the start are noticed.
    const { promise: after, resolve: applied } = Promise.withResolvers<void>()
    const organization = await organizations.first()
    this.#watch = new PipelineWatch({ ...this.#deps, folders: folders.filter((folder) => existsSync(folder)), root, organization, after })
    try {
      await this.#applyAll(folders, root)
    } catch (error) {
      applied()
      await this.stop()
      throw error
    }
    applied()
  }

  async #applyAll(folders: readonly string[], root: string): Promise<void> {
    const { settings, organizations, log } = this.#deps
    const files = pipelineFiles(folders)
    for (const { path, why } of folders.filter((folder) => existsSync(folder)).flatMap(ignoredFiles))
      log.warn({ file: relative(root, path) }, `${relative(root, path)} is ignored: ${why}`)
    if (files.length === 0) return
    const organization = await organizations.first()
    const problems: string[][] = []
    const changed = new Set<string>()
    const slugs = new Map<string, string>()
    const left = files.entries()
    const applyNext = async () => {
      for (const [index, file] of left)
        problems[index] = await this.#apply(readPipelineFile(file, process.env, root), organization, slugs, changed)
    }
    await allDone(Array.from({ length: atOnce }, applyNext))
    const all = problems.flat()
    if (all.length > 0 && !settings.pipelines.watch)
      throw new Error(`Pipeline files are not valid:\n${all.map((problem) => `  - ${problem}`).join("\n")}`)
    for (const [index, refused] of problems.entries())
      if (refused.length > 0) reportRefused(log, relative(root, files[index] ?? ""), refused)
    await this.#warnOfSplitLeads(organization, changed)
  }

  /**
   * Returns the problems of a file, one line each. `slugs` maps the slugs of earlier files to their paths. Adds applied slugs to
   * `changed`.
   */
  async #apply(
    read: ReturnType<typeof readPipelineFile>,
    organization: Organization,
    slugs: Map<string, string>,
    changed: Set<string>,
  ): Promise<string[]> {
    if ("findings" in read) return describeFindings(read)
    const other = slugs.get(read.slug)
    if (other !== undefined) return [`${read.path}: its slug "${read.slug}" is also that of ${other}; change one.`]
    slugs.set(read.slug, read.path)
    try {
      const applied = await applyFile(organization, read, { ...this.#deps, amongMany: true })
      if (applied === "created" || applied === "updated") changed.add(read.slug)
      return []
    } catch (error) {
      return refusalOf(read, error)
    }
  }

  async #warnOfSplitLeads(organization: Organization, changed: ReadonlySet<string>): Promise<void> {
    const { pipelines, log } = this.#deps
    if (changed.size === 0) return
    for (const { slug, warning } of await pipelines.leadSplits.among(organization.id, changed)) log.warn({ pipeline: slug }, warning)
  }

  async stop(): Promise<void> {
    await this.#watch?.stop()
  }

  async #greeting(baseUrl: string): Promise<string | undefined> {
    const { organizations, pipelines, store } = this.#deps
    const organization = await organizations.first()
    const lead = await pipelines.find(organization.id, "website-lead")
    if (lead?.state !== "active" || lead.endpoint_id === null) return undefined
    const entries = store.open(EntryCollection, organization.id)
    if ((await entries.count({ pipeline_id: lead.id }, { limit: 1 })) > 0) return undefined
    const url = `${baseUrl}/v1/inbound/${lead.endpoint_id}`
    const body = JSON.stringify({ email: "ada@example.com", name: "Ada Lovelace", budget: 5000 })
    return `\nSend a first lead:\n  curl -sS -H 'content-type: application/json' -d '${body}' ${url}\n`
  }
}

/** Returns the user's folder, or the folder shipped with the framework. */
function folderOf(path: string, root: string): string {
  const own = resolve(root, path)
  return existsSync(own) ? own : resolve(import.meta.dirname, "../../..", path)
}
