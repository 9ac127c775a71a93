// `millrace pipelines plan` and `apply`: compare files with a running service, and apply them.
import { CommandProblem } from "#core"
import { type LocalCompiler, openCompiler, print, printError, Rehearsal, type Terminal } from "#core/commands"
import { BootError, type CommandContext, type CoreConfig, PipelineDocument, parseText } from "#core/engine"
import { findFiles, readText, shownPath, tellPassedOver } from "../files.ts"
import { formatFindings } from "../finding-formats.ts"
import { openRemote, type Remote, type RemoteOptions, slugOfDocument } from "../remote.ts"
import { type CheckedFile, validateFiles } from "../validate.ts"
import { type Plan, planText } from "./plan-text.ts"
import { type ReplayedPipeline, replayPipeline, replayText } from "./replay.ts"

interface PlanOptions extends RemoteOptions {
  readonly json?: boolean
  readonly replay?: string
  readonly force?: boolean
}

export async function plan(options: PlanOptions, context: CommandContext): Promise<undefined> {
  const { args: given, terminal } = context
  await withDocuments(given, options, context, async (documents, remote) => {
    const plan = await planOf(documents, remote, options)
    const replayed = options.replay === undefined ? [] : await replayAll(plan, documents, remote, countOf(options.replay), context)
    if (options.json) print(terminal, JSON.stringify({ ...plan, ...(options.replay === undefined ? {} : { replayed }) }, null, 2))
    else print(terminal, [planText(plan), ...(replayed.length > 0 ? ["", replayText(replayed)] : [])].join("\n"))
    context.end(plan.blocked ? 1 : 0)
  })
}

export async function apply(options: PlanOptions, context: CommandContext): Promise<undefined> {
  const { args: given, terminal } = context
  await withDocuments(given, options, context, async (documents, remote) => {
    const plan = await planOf(documents, remote, options)
    if (plan.blocked && (!options.force || plan.changes.some(({ action }) => action === "refused"))) {
      print(terminal, options.json ? JSON.stringify(plan, null, 2) : planText(plan))
      printError(
        terminal,
        "Nothing was applied. Merge the server's changes into the files and connect missing integrations, or apply with --force; correct refused documents.",
      )
      return context.end(1)
    }
    const body = { ...bodyOf(documents), force: options.force ?? false }
    const applied = await remote.call<Plan>("POST", "/v1/event-pipelines/apply", body, "changes")
    print(terminal, options.json ? JSON.stringify(applied, null, 2) : planText(applied, { applied: true }))
  })
}

/** Throws CommandProblem if empty folders would disable all applied pipelines, unless `force` is set. */
async function planOf(documents: LocalDocuments, remote: Remote, { force = false }: PlanOptions): Promise<Plan> {
  const plan = await remote.call<Plan>("POST", "/v1/event-pipelines/plan", bodyOf(documents), "changes")
  const gone = plan.changes.filter(({ action }) => action === "disable").map(({ slug }) => slug)
  if (force || documents.sent.length > 0 || gone.length === 0) return plan
  const pipelines = gone.length === 1 ? "the one pipeline" : `all ${gone.length} pipelines`
  throw new CommandProblem(
    `No pipeline files are here: an apply would disable ${pipelines} that were applied from files (${gone.join(", ")}). Go to the project's folder, or use --force.`,
    2,
  )
}

function bodyOf({ sent, complete }: LocalDocuments) {
  return { documents: sent, complete }
}

async function withDocuments(
  given: readonly string[],
  options: PlanOptions,
  { config, root, terminal, end }: CommandContext,
  run: (documents: LocalDocuments, remote: Remote) => Promise<void>,
): Promise<void> {
  const settings = config()
  const remote = await openRemote(options, settings.data_dir, terminal)
  const compiler = await openCompiler({ config: settings, root, env: terminal.env })
  let documents: Awaited<ReturnType<typeof localDocuments>>
  try {
    documents = await localDocuments(given, { settings, compiler, terminal })
  } finally {
    await compiler.stop()
  }
  if ("refused" in documents) {
    print(terminal, formatFindings(documents.refused, options.json ? "json" : "text"))
    return end(1)
  }
  await run(documents, remote)
}

async function replayAll(
  plan: Plan,
  { bySlug }: LocalDocuments,
  remote: Remote,
  count: number,
  { config, root }: CommandContext,
): Promise<ReplayedPipeline[]> {
  const changed = plan.changes
    .filter(({ action }) => action === "change")
    .flatMap(({ slug }) => {
      const document = bySlug.get(slug)
      return document ? [{ slug, document }] : []
    })
  if (changed.length === 0) return []
  const rehearsal = await Rehearsal.open({ config: config(), root })
  try {
    const replayed: ReplayedPipeline[] = []
    for (const one of changed) replayed.push(await replayPipeline({ ...one, count, remote, rehearsal }))
    return replayed
  } finally {
    await rehearsal.stop()
  }
}

/** Bound per pipeline. Events are read and run one by one. */
const maxReplayed = 10_000

function countOf(text: string): number {
  const count = Number(text)
  if (Number.isInteger(count) && count >= 1 && count <= maxReplayed) return count
  throw new BootError([`--replay takes a number from 1 to ${maxReplayed}, not "${text}".`])
}

// Files to plan or apply. They are compiled locally first, for errors with line numbers. Each is then sent unchanged, with the
// value of its secret's variable.

interface SentDocument {
  readonly path: string
  readonly document: unknown
  readonly secret?: string
}

interface LocalDocuments {
  readonly sent: readonly SentDocument[]
  readonly bySlug: ReadonlyMap<string, PipelineDocument>
  /** True if the command line names no file: the documents are complete. */
  readonly complete: boolean
}

interface DocumentArgs {
  readonly settings: CoreConfig
  readonly compiler: LocalCompiler
  readonly terminal: Terminal
}

async function localDocuments(
  given: readonly string[],
  { settings, compiler, terminal }: DocumentArgs,
): Promise<LocalDocuments | { refused: CheckedFile[] }> {
  const wanted = { given, configured: settings.pipelines.paths, kind: "pipeline" } as const
  tellPassedOver(wanted, terminal)
  const files = findFiles(wanted)
  const checked = await validateFiles(files, compiler)
  if (checked.some((file) => !file.ok)) return { refused: checked.filter((file) => !file.ok) }
  const read = files.map((file) => ({ path: shownPath(file), document: parseText(readText(file)).value }))
  const sent = read.map(({ path, document }) => {
    const secret = secretOf(document, terminal.env)
    return { path, document, ...(secret === undefined ? {} : { secret }) }
  })
  const bySlug = new Map(
    read.map(({ document }) => {
      const parsed = PipelineDocument.parse(document)
      return [slugOfDocument(parsed), parsed] as const
    }),
  )
  return { sent, bySlug, complete: given.length === 0 }
}

function secretOf(document: unknown, env: NodeJS.ProcessEnv): string | undefined {
  const { auth_config } = document as { auth_config?: { secret?: { from_env?: string } } }
  const name = auth_config?.secret?.from_env
  return name === undefined ? undefined : env[name] || undefined
}
