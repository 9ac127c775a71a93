// Applies pipeline files at start. A document in the configured folders is applied to the first organization if it changed since
// its last apply. A later change on the server is drift: it stays, is reported, and is not overwritten. Nodes that start together
// race for the commit, and the losing node finds the work done.
import { createHash } from "node:crypto"
import { existsSync, readFileSync } from "node:fs"
import { basename, relative } from "node:path"
import { AppError, type Logger, slugOf, type UnitsOfWork } from "#core"
import { type Finding, notUtf8, PipelineDocument, parseText, schemaProblems, utf8Text } from "#core/engine"
import type { EventPipelines, Organization, PipelineRecord, Saved } from "../pipelines/index.ts"
import { remember } from "./apply/apply.ts"
import type { ReadDocument } from "./apply/given.ts"
import { markOf, standingOf, takenSecret, wanted } from "./apply/named-secret.ts"
import { filesOfKind } from "./pipeline-folder.ts"

export interface ReadFile extends ReadDocument {
  /** Returns the text position of a JSON pointer in the document. */
  readonly locate: ReturnType<typeof parseText>["locate"]
}

export interface FileProblem {
  readonly path: string
  readonly findings: readonly Finding[]
}

export function pipelineFiles(folders: readonly string[]): string[] {
  return folders
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => filesOfKind(folder, "pipeline"))
    .sort()
}

/** Reads one file. Resolves secrets of the form `{ from_env: NAME }` from `env`. */
export function readPipelineFile(file: string, env: NodeJS.ProcessEnv, root: string): ReadFile | FileProblem {
  const path = relative(root, file) || basename(file)
  const text = textOf(file)
  if (typeof text !== "string") return { path, findings: [text] }
  const { value, findings, locate } = parseText(text, { refuseLiteralSecrets: true })
  if (value === undefined || findings.some((finding) => finding.level === "error")) return { path, findings }
  const parsed = PipelineDocument.safeParse(value)
  if (!parsed.success) {
    const problems = schemaProblems({ schema: PipelineDocument, value, issues: parsed.error.issues }, "")
    return { path, findings: problems.map((problem) => ({ ...problem, level: "error", ...locate(problem.pointer) })) }
  }
  const digest = createHash("sha256").update(JSON.stringify(value)).digest("hex")
  const { secret: reference, ...config } = parsed.data.auth_config
  const document = { ...parsed.data, auth_config: config }
  const variable = variableOf(reference)
  const secret = variable === undefined ? undefined : env[variable] || undefined
  const unset = secret === undefined ? variable : undefined
  const mark = { path, digest, applied_revision: 0, unset: unset !== undefined, applied_secret: null }
  return { path, document, slug: document.slug ?? slugOf(document.name, "pipeline"), secret, unset, mark, locate }
}

function textOf(file: string): string | Finding {
  const refused = (message: string): Finding => ({ rule: "invalid-syntax", level: "error", message, pointer: "" })
  try {
    return utf8Text(readFileSync(file)) ?? refused(notUtf8)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    return refused(`The file cannot be read: ${code === "ENOENT" ? "it does not exist, or is a broken link" : message}.`)
  }
}

function variableOf(reference: unknown): string | undefined {
  if (typeof reference !== "object" || reference === null) return undefined
  const name = (reference as Record<string, unknown>)["from_env"]
  return typeof name === "string" ? name : undefined
}

export interface ApplyDeps {
  readonly pipelines: EventPipelines
  readonly works: UnitsOfWork
  readonly log: Logger
  /** See SaveOptions. */
  readonly amongMany?: boolean
}

export type Applied = "created" | "updated" | "unchanged" | "drifted"

/** Applies one file. Throws AppError if the document does not compile or changes a fixed field. */
export async function applyFile(organization: Organization, file: ReadFile, deps: ApplyDeps): Promise<Applied> {
  const stored = await deps.pipelines.find(organization.id, file.slug)
  try {
    return stored ? await refresh(organization, file, stored, deps) : await make(organization, file, deps)
  } catch (error) {
    // Another node started at the same time and won the commit.
    if (error instanceof AppError && (error.code === "already_exists" || error.code === "aborted")) return "unchanged"
    throw error
  }
}

// A start activates steps without their connection. At the first start no connection exists yet.
async function make(organization: Organization, file: ReadFile, { pipelines, works, log, amongMany = false }: ApplyDeps): Promise<Applied> {
  warnOfUnset(file, log)
  const auth_config = file.secret === undefined ? file.document.auth_config : { ...file.document.auth_config, secret: file.secret }
  const document = { ...wanted(file, undefined), auth_config }
  return report(
    file,
    "created",
    log,
    await works.run((work) => pipelines.create(organization, document, work, file.mark, undefined, { amongMany, force: true })),
  )
}

async function refresh(
  organization: Organization,
  file: ReadFile,
  stored: PipelineRecord,
  { pipelines, works, log, amongMany = false }: ApplyDeps,
): Promise<Applied> {
  const same = stored.file?.digest === file.mark.digest
  const standing = standingOf(file, stored, pipelines.secrets)
  const kept = keptMessage(file, stored, { same, rotated: standing === "rotated" })
  if (kept !== undefined) {
    log.warn({ file: file.path, pipeline: stored.slug }, kept)
    return "drifted"
  }
  if (file.unset !== undefined) warnOfUnset(file, log)
  const mark = markOf(file, stored, standing)
  const secret = takenSecret(file, standing)
  if (same && secret === undefined) {
    if ((stored.file?.applied_secret ?? null) !== mark.applied_secret) await works.run((work) => remember(organization, stored, mark, work))
    return "unchanged"
  }
  const { slug: _, ...change } = wanted(file, stored)
  const update = { mark, secret }
  return report(
    file,
    "updated",
    log,
    await works.run((work) => pipelines.update(organization, stored.id, change, work, stored.revision, update, { amongMany, force: true })),
  )
}

/** Returns the reason for keeping the server's version, or undefined if it has not changed since the last apply. */
function keptMessage(
  { path }: ReadFile,
  stored: PipelineRecord,
  { same, rotated }: { same: boolean; rotated: boolean },
): string | undefined {
  if (stored.file === null || stored.revision !== stored.file.applied_revision)
    return same
      ? `the pipeline was changed on the server since ${path} was applied; the server's version is kept`
      : `${path} was changed, and so was the pipeline on the server; the server's version is kept`
  if (!rotated) return undefined
  return `the secret was rotated on the server since ${path} was applied, and its variable has another value; the server's secret is kept`
}

function warnOfUnset(file: ReadFile, log: Logger): void {
  if (file.unset === undefined) return
  log.warn(
    { file: file.path, variable: file.unset },
    `${file.path} takes its secret from ${file.unset}, which is not set: a pipeline without a secret is proposed, not active`,
  )
}

function report(file: ReadFile, outcome: "created" | "updated", log: Logger, { record, warnings }: Saved): Applied {
  log.info({ file: file.path, pipeline: record.slug, state: record.state, warnings }, `pipeline ${outcome} from its file`)
  return outcome
}

/** Returns one line per finding, in the format of compilers. */
export function describeFindings({ path, findings }: FileProblem): string[] {
  return findings.map(
    ({ line, column, pointer, rule, message }) =>
      `${path}:${line ?? 1}:${column ?? 1}: ${message} (${rule}${pointer ? ` at ${pointer}` : ""})`,
  )
}
