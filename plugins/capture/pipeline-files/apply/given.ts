// A document as sent to `plan` and `apply`, read like a file at start. The document names a variable for its secret; the value of
// the variable is sent separately.
import { createHash } from "node:crypto"
import { z } from "zod"
import { AnyJson, AppError, slugOf } from "#core"
import { fieldProblems, PipelineDocument } from "#core/engine"
import { type AppliedFile, internalAuth } from "../../pipelines/index.ts"

export const GivenDocument = z.strictObject({
  path: z.string().min(1).max(1_024).describe("Path of the document, for messages and the record."),
  document: AnyJson.describe("Document as in the file; a secret only as { from_env: NAME }."),
  secret: z.string().min(1).max(8_192).optional().describe("Value of that variable: the pipeline's secret. It is never shown."),
})
export type GivenDocument = z.infer<typeof GivenDocument>

export interface ReadDocument {
  readonly path: string
  readonly slug: string
  /** Without the secret. */
  readonly document: PipelineDocument
  readonly secret: string | undefined
  /** The unset variable that should hold the secret. */
  readonly unset: string | undefined
  /** File data stored with a new pipeline. */
  readonly mark: AppliedFile
}

/** Reads the document at a position of the request. Throws AppError `invalid_argument` if the document is invalid or holds a secret. */
export function readGiven({ path, document: given, secret }: GivenDocument, position: number): ReadDocument {
  const inRequest = (field: string) => [`documents.${position}.document`, field].filter(Boolean).join(".")
  const parsed = PipelineDocument.safeParse(given)
  if (!parsed.success) {
    const fields = fieldProblems({ schema: PipelineDocument, value: given, issues: parsed.error.issues })
    const said = fields.map((one) => `${one.path || "(document)"}: ${one.message}`).join(" ")
    throw new AppError("invalid_argument", `${path} is not a pipeline document: ${said}`, {
      reason: "invalid_document",
      fields: fields.map((one) => ({ ...one, path: inRequest(one.path) })),
    })
  }
  const { secret: reference, ...auth_config } = parsed.data.auth_config
  if (typeof reference === "string") {
    throw new AppError("invalid_argument", `${path} holds a secret; write { from_env: NAME } there.`, {
      reason: "literal_secret",
      fields: [{ path: inRequest("auth_config.secret"), message: "a literal secret" }],
    })
  }
  const slug = parsed.data.slug ?? slugOf(parsed.data.name, "pipeline")
  const unset = secret === undefined && reference !== undefined ? variableOf(reference) : undefined
  const digest = createHash("sha256").update(JSON.stringify(given)).digest("hex")
  const document = internalAuth({ ...parsed.data, slug, auth_config }, secret)
  return {
    path,
    slug,
    document,
    secret,
    unset,
    mark: { path, digest, applied_revision: 0, unset: unset !== undefined, applied_secret: null },
  }
}

function variableOf(reference: unknown): string {
  return String((reference as { from_env?: unknown }).from_env ?? "its variable")
}
