// Pipelines from files: at start each document under the configured folders is applied to the first organization where
// it differs from what was last applied from it. A change made on the server since is drift: kept, reported, never
// overwritten. Nodes that start together race for the commit, and the one that loses finds it done.
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { basename, join, relative } from "node:path"
import { AppError, type Finding, type Logger, PipelineDocument, parseText, slugOf, type Works } from "#core"
import type { PipelineRecord } from "./collections.ts"
import type { EventPipelines, Organization, Saved } from "./pipelines.ts"

export interface ReadFile {
  /** As messages name it. */
  readonly path: string
  /** Without the secret. */
  readonly document: PipelineDocument
  /** Of the document as written: the name of a variable, not what it holds. */
  readonly digest: string
  readonly slug: string
  /** What the variable that the document names holds. */
  readonly secret: string | undefined
  /** The variable that the document names and that is not set. */
  readonly unset: string | undefined
  /** Where in the text a JSON pointer of the document stands. */
  readonly locate: ReturnType<typeof parseText>["locate"]
}

export interface FileProblem {
  readonly path: string
  readonly findings: readonly Finding[]
}

export function pipelineFiles(folders: readonly string[]): string[] {
  return folders
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))
    .filter((file) => /\.(ya?ml|json)$/.test(file) && !/\.test\.(ya?ml|json)$/.test(file))
    .sort()
}

/** Reads one file; secrets named by `{ from_env: NAME }` are taken from `env`. */
export function readPipelineFile(file: string, env: NodeJS.ProcessEnv, root: string): ReadFile | FileProblem {
  const path = relative(root, file) || basename(file)
  const { value, findings, locate } = parseText(readFileSync(file, "utf8"), { refuseLiteralSecrets: true })
  if (value === undefined || findings.some((finding) => finding.level === "error")) return { path, findings }
  const parsed = PipelineDocument.safeParse(value)
  if (!parsed.success) {
    return {
      path,
      findings: parsed.error.issues.flatMap((issue) => {
        const holder = issue.path.map((part) => `/${String(part)}`).join("")
        if (issue.code !== "unrecognized_keys")
          return [{ rule: "invalid-field", level: "error", message: issue.message, pointer: holder, ...locate(holder) }]
        return issue.keys.map((key) => {
          const pointer = `${holder}/${key}`
          return { rule: "unknown-field", level: "error", message: `A pipeline has no field "${key}".`, pointer, ...locate(pointer) }
        })
      }),
    }
  }
  const digest = createHash("sha256").update(JSON.stringify(value)).digest("hex")
  const { secret: reference, ...config } = parsed.data.auth_config
  const document = { ...parsed.data, auth_config: config }
  const variable = variableOf(reference)
  const secret = variable === undefined ? undefined : env[variable] || undefined
  const unset = secret === undefined ? variable : undefined
  return { path, document, digest, slug: document.slug ?? slugOf(document.name), secret, unset, locate }
}

function variableOf(reference: unknown): string | undefined {
  if (typeof reference !== "object" || reference === null) return undefined
  const name = (reference as Record<string, unknown>)["from_env"]
  return typeof name === "string" ? name : undefined
}

export interface ApplyDeps {
  readonly pipelines: EventPipelines
  readonly works: Works
  readonly log: Logger
  /** See SaveOptions. */
  readonly amongMany?: boolean
}

export type Applied = "created" | "updated" | "unchanged" | "drifted"

/** Applies one file. Throws AppError when it is refused: it does not compile, or changes what is fixed. */
export async function applyFile(organization: Organization, file: ReadFile, deps: ApplyDeps): Promise<Applied> {
  const stored = await deps.pipelines.find(organization.id, file.slug)
  try {
    return stored ? await refresh(organization, file, stored, deps) : await make(organization, file, deps)
  } catch (error) {
    // Another node that started at the same time was first.
    if (error instanceof AppError && (error.code === "already_exists" || error.code === "aborted")) return "unchanged"
    throw error
  }
}

async function make(organization: Organization, file: ReadFile, { pipelines, works, log, amongMany = false }: ApplyDeps): Promise<Applied> {
  warnOfUnset(file, log)
  const auth_config = file.secret === undefined ? file.document.auth_config : { ...file.document.auth_config, secret: file.secret }
  const state = file.unset === undefined ? file.document.state : "proposed"
  const document = { ...file.document, auth_config, state }
  return report(
    file,
    "created",
    log,
    await works.run((work) => pipelines.create(organization, document, work, markOf(file), undefined, { amongMany })),
  )
}

async function refresh(
  organization: Organization,
  file: ReadFile,
  stored: PipelineRecord,
  { pipelines, works, log, amongMany = false }: ApplyDeps,
): Promise<Applied> {
  const drifted = stored.file === null || stored.revision !== stored.file.applied_revision
  const same = stored.file?.digest === file.digest && stored.file.unset === markOf(file).unset
  if (drifted) {
    const message = same
      ? `the pipeline was changed on the server since ${file.path} was applied; the server's is kept`
      : `${file.path} was changed, and so was the pipeline on the server; the server's is kept`
    log.warn({ file: file.path, pipeline: stored.slug }, message)
    return "drifted"
  }
  if (file.unset !== undefined) warnOfUnset(file, log)
  if (same) return "unchanged"
  const { slug: _, ...changes } = file.document
  // A variable that is gone takes nothing away from a pipeline that has its secret.
  const state = file.unset === undefined || stored.file?.unset === false ? changes.state : "proposed"
  const update = { mark: markOf(file), secret: stored.file?.unset === true ? file.secret : undefined }
  const change = { ...changes, state }
  return report(
    file,
    "updated",
    log,
    await works.run((work) => pipelines.update(organization, stored.id, change, work, stored.revision, update, { amongMany })),
  )
}

function markOf(file: ReadFile): NonNullable<PipelineRecord["file"]> {
  return { path: file.path, digest: file.digest, applied_revision: 0, unset: file.unset !== undefined }
}

function warnOfUnset(file: ReadFile, log: Logger): void {
  if (file.unset === undefined) return
  log.warn(
    { file: file.path, variable: file.unset },
    `${file.path} takes its secret from ${file.unset}, which is not set: a pipeline that has no secret yet is proposed, not active`,
  )
}

function report(file: ReadFile, outcome: "created" | "updated", log: Logger, { record, warnings }: Saved): Applied {
  log.info({ file: file.path, pipeline: record.slug, state: record.state, warnings }, `pipeline ${outcome} from its file`)
  return outcome
}

/** One line a finding, as compilers write them. */
export function describeFindings({ path, findings }: FileProblem): string[] {
  return findings.map(
    ({ line, column, pointer, rule, message }) =>
      `${path}:${line ?? 1}:${column ?? 1}: ${message} (${rule}${pointer ? ` at ${pointer}` : ""})`,
  )
}
