// The files that are planned or applied: compiled here first, so that what is wrong is told with its lines, then sent as
// they are, each with what the variable of its secret holds.

import type { LocalCompiler, Terminal } from "#core/commands"
import { type CoreConfig, PipelineDocument, parseText } from "#core/engine"
import { findFiles, readText, shownPath, tellPassedOver } from "../files.ts"
import { slugOfDocument } from "../remote.ts"
import { type CheckedFile, validateFiles } from "../validate.ts"

export interface SentDocument {
  readonly path: string
  readonly document: unknown
  readonly secret?: string
}

export interface LocalDocuments {
  readonly sent: readonly SentDocument[]
  readonly bySlug: ReadonlyMap<string, PipelineDocument>
  /** No file was named: these are all there are. */
  readonly complete: boolean
}

export interface DocumentArgs {
  readonly settings: CoreConfig
  readonly compiler: LocalCompiler
  readonly terminal: Terminal
}

export async function localDocuments(
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
