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
  readonly document: PipelineDocument
  readonly digest: string
  readonly slug: string
  /** Variables that the document names and that are not set. */
  readonly unset: readonly string[]
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
      findings: parsed.error.issues.map((issue) => {
        const pointer = issue.path.map((part) => `/${String(part)}`).join("")
        return { rule: "invalid-field", level: "error", message: issue.message, pointer, ...locate(pointer) }
      }),
    }
  }
  const digest = createHash("sha256").update(JSON.stringify(value)).digest("hex")
  const { document, unset } = fromEnvironment(parsed.data, env)
  return { path, document, digest, slug: document.slug ?? slugOf(document.name), unset }
}

function fromEnvironment(document: PipelineDocument, env: NodeJS.ProcessEnv): { document: PipelineDocument; unset: string[] } {
  const { secret, ...config } = document.auth_config
  if (typeof secret !== "object" || secret === null || Array.isArray(secret)) return { document, unset: [] }
  const name = secret["from_env"]
  if (typeof name !== "string") return { document, unset: [] }
  const value = env[name]
  if (value !== undefined && value !== "") return { document: { ...document, auth_config: { ...config, secret: value } }, unset: [] }
  return { document: { ...document, auth_config: config, state: "proposed" }, unset: [name] }
}

export interface ApplyDeps {
  readonly pipelines: EventPipelines
  readonly works: Works
  readonly log: Logger
}

export type Applied = "created" | "updated" | "unchanged" | "drifted"

/** Applies one file. Throws AppError when it is refused: it does not compile, or changes what is fixed. */
export async function applyFile(organization: Organization, file: ReadFile, { pipelines, works, log }: ApplyDeps): Promise<Applied> {
  const mark: PipelineRecord["file"] = { path: file.path, digest: file.digest, applied_revision: 0 }
  for (const name of file.unset)
    log.warn(
      { file: file.path, variable: name },
      `${file.path} takes its secret from ${name}, which is not set: the pipeline is proposed, not active`,
    )
  const stored = await pipelines.find(organization.id, file.slug)
  try {
    if (!stored) return report(file, "created", log, await works.run((work) => pipelines.create(organization, file.document, work, mark)))
    const drifted = stored.file === null || stored.revision !== stored.file.applied_revision
    if (stored.file?.digest === file.digest) return drifted ? "drifted" : "unchanged"
    if (drifted) {
      log.warn(
        { file: file.path, pipeline: stored.slug },
        `${file.path} was changed, and so was the pipeline on the server; the server's is kept`,
      )
      return "drifted"
    }
    const { slug: _, ...changes } = file.document
    const fixed =
      file.unset.length > 0
        ? { ...changes, auth_config: stored.document.auth_config }
        : { ...changes, auth_config: withoutSecret(changes.auth_config) }
    return report(
      file,
      "updated",
      log,
      await works.run((work) => pipelines.update(organization, stored.id, fixed, work, stored.revision, mark)),
    )
  } catch (error) {
    if (error instanceof AppError && (error.code === "already_exists" || error.code === "aborted")) return "unchanged"
    throw error
  }
}

function withoutSecret(config: PipelineDocument["auth_config"]): PipelineDocument["auth_config"] {
  const { secret: _, ...rest } = config
  return rest
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
