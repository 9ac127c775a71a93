// Responses of calls: JSON matching the declared output of the operation, or a stream.
import type { Json } from "../../contract/collection.ts"
import type { AnyOperation, Streamed } from "../../contract/operation.ts"
import { fieldProblems } from "../../kernel/zod-problems.ts"
import type { KeptAnswer } from "./idempotency.ts"

export type CallAnswer = JsonAnswer | { readonly kind: "stream"; readonly status: number; readonly stream: Streamed }

export interface JsonAnswer {
  readonly kind: "json"
  readonly status: number
  /** JSON text of the response. */
  readonly text: string
  /** The parsed text. It is parsed on first use. */
  readonly body: Json
  /** True for the stored answer of an earlier call with the same idempotency key. */
  readonly repeated: boolean
}

export function jsonAnswer(status: number, text: string, repeated = false): JsonAnswer {
  let body: Json | undefined
  return {
    kind: "json",
    status,
    text,
    repeated,
    get body() {
      body ??= JSON.parse(text) as Json
      return body
    },
  }
}

export function repeatedAnswer({ status, body }: KeptAnswer): JsonAnswer {
  return jsonAnswer(status, JSON.stringify(body), true)
}

/** Returns the result of a handler as JSON text. Throws if the result does not match the declared output. */
export async function outputText(operation: AnyOperation, result: unknown): Promise<string> {
  const parsed = await operation.output.safeParseAsync(result)
  if (!parsed.success) {
    const problems = fieldProblems({ schema: operation.output, value: result, issues: parsed.error.issues })
    const fields = problems.map(({ path, message }) => `${path}: ${message}`)
    throw new Error(`The result of ${operation.name} does not match its declared output: ${fields.join("; ")}`)
  }
  return JSON.stringify(parsed.data ?? null)
}
