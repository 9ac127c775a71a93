// If-Match on a write (RFC 9110 section 13.1.1): the write succeeds only if the resource is unchanged since the tagged read.
import type { AnyOperation } from "../../contract/operation.ts"
import { AppError } from "../../kernel/errors.ts"
import { knownFields } from "../../kernel/known-fields.ts"
import { entityTag, tagMatches } from "./answer.ts"

type Input = Readonly<Record<string, unknown>>

export interface Precondition {
  readonly ifMatch: string
  readonly operation: AnyOperation
  /** The read at the same path, if any. */
  readonly read: AnyOperation | undefined
  /** Path parameters. */
  readonly parameters: Input
  /** Returns the read's response for the same caller. */
  readonly answerOf: (read: AnyOperation, input: Input) => Promise<unknown>
}

/** Maps each write to the read at its path. */
export function readsBeside(operations: readonly AnyOperation[]): ReadonlyMap<AnyOperation, AnyOperation> {
  const reads = new Map(operations.filter(({ http, streams }) => http.method === "GET" && !streams).map((read) => [read.http.path, read]))
  return new Map(
    operations.flatMap((operation) => {
      const read = operation.hints.readOnly ? undefined : reads.get(operation.http.path)
      return read && takesRevision(operation) && revisionPath(read) ? [[operation, read] as const] : []
    }),
  )
}

/** Returns true if the write accepts an expected revision. */
function takesRevision({ input }: AnyOperation): boolean {
  return knownFields(input, []).includes("expected_revision")
}

/** Path to the revision in a read's response: at the top, or in its only resource. */
function revisionPath({ output }: AnyOperation): readonly string[] | undefined {
  const fields = knownFields(output, [])
  if (fields.includes("revision")) return ["revision"]
  const [resource, another] = fields.filter((field) => knownFields(output, [field]).includes("revision"))
  return resource === undefined || another !== undefined ? undefined : [resource, "revision"]
}

function revisionIn(read: AnyOperation, answer: unknown): number | undefined {
  let value = answer
  for (const field of revisionPath(read) ?? []) value = (value as Input | null | undefined)?.[field]
  return typeof value === "number" ? value : undefined
}

/**
 * Throws `failed_precondition`. All writes refuse If-None-Match, the opposite of If-Match: a condition of the client is never
 * ignored.
 */
export function refuseIfNoneMatch(operation: AnyOperation): never {
  const message = `${operation.name} does not take If-None-Match; leave it out. It is for reads; a write takes If-Match where it takes "expected_revision".`
  throw new AppError("failed_precondition", message, { reason: "if_none_match_unsupported" })
}

/**
 * Resolves If-Match to `expected_revision`. The read at the same path provides the tag and the revision, so no other change can
 * come between. Throws `aborted` if the ETag is stale. Throws `failed_precondition` if the write has no `expected_revision` and
 * therefore cannot guarantee the condition. Errors of the read pass through.
 */
export async function heldToTag(input: Input, { ifMatch, operation, read, parameters, answerOf }: Precondition): Promise<Input> {
  const now = read && (await answerOf(read, parameters))
  const revision = read && revisionIn(read, now)
  if (revision === undefined) {
    const remedy = takesRevision(operation) ? 'give "expected_revision"' : 'change the resource by an operation with "expected_revision"'
    const message = `${operation.name} does not take If-Match; leave it out, or ${remedy}.`
    throw new AppError("failed_precondition", message, { reason: "if_match_unsupported" })
  }
  const tag = entityTag(JSON.stringify(now))
  const { expected_revision = revision } = input
  if (!tagMatches(ifMatch, tag) || expected_revision !== revision) {
    const message = `If-Match: ${ifMatch.slice(0, 100)} is not the current entity tag; read it again.`
    throw new AppError("aborted", message, { reason: "etag_mismatch", current_etag: tag, current_revision: revision })
  }
  return { ...input, expected_revision }
}
