// The answer to an inbound request as plain data. The stages of an event do not use sockets.
import type { ServerResponse } from "node:http"
import type { Reply } from "../../contract/action.ts"
import type { Acknowledgement } from "../../contract/auth-mode.ts"
import type { Json } from "../../contract/collection.ts"
import { AppError } from "../../kernel/errors.ts"
import { jsonOrText } from "../../kernel/json.ts"

export interface HttpAnswer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string
}

export function answerError(error: AppError): HttpAnswer {
  return answerReply(errorReply(error))
}

export function answerReply(reply: Reply): HttpAnswer {
  const text = typeof reply.body === "string"
  const headers = { "content-type": text ? "text/plain; charset=utf-8" : "application/json", ...reply.headers }
  return { status: reply.status, headers, body: reply.body === null ? "" : text ? (reply.body as string) : JSON.stringify(reply.body) }
}

/** `acknowledgement` replaces the service's own answer with the sender's expected format. */
export function acceptedReply(executionId: string, acknowledgement?: Acknowledgement): Reply {
  if (acknowledgement) return acknowledgement
  return { status: 200, headers: {}, body: { status: "accepted", execution_id: executionId } }
}

/** An error as a reply, for the journal and the answer. */
export function errorReply(error: AppError): Reply {
  const headers = error.retryAfterS === undefined ? {} : { "retry-after": String(error.retryAfterS) }
  return { status: error.status, headers, body: error.toBody() as unknown as Json }
}

/** Returns the reply from a journal entry. */
export function parsedReply(response: { status: number; body: string } | null): Reply {
  const { status, body } = response ?? { status: 200, body: "" }
  return { status, headers: {}, body: jsonOrText(body) as Json }
}

// Writes answers to the socket, with CORS headers for pages of other origins.

export const preflight: HttpAnswer = {
  status: 204,
  headers: {
    "access-control-allow-methods": "POST, OPTIONS",
    "access-control-allow-headers": "content-type, authorization, x-request-id, x-service-test",
    "access-control-max-age": "600",
  },
  body: "",
}

/** Response headers that a page may read, beside the pipeline's own exposed headers. */
const exposed = "x-request-id, retry-after"

export function methodNotAllowed(method: string): HttpAnswer {
  const answer = answerError(
    new AppError("unimplemented", `Events are sent by POST, not ${method}.`, { reason: "method_not_allowed" }, { status: 405 }),
  )
  return { ...answer, headers: { ...answer.headers, allow: "POST, OPTIONS" } }
}

/** Any page may post to a pipeline if the pipeline allows its origin. The answer contains no credentials. */
export function writeAnswer(response: ServerResponse, answer: HttpAnswer, requestId: string, origin: string | undefined): void {
  if (response.destroyed) return
  const headers: Record<string, string | number> = {
    "X-Request-Id": requestId,
    ...answer.headers,
    "content-length": Buffer.byteLength(answer.body),
  }
  if (origin !== undefined) {
    headers["access-control-allow-origin"] = origin
    headers["access-control-expose-headers"] = [exposed, answer.headers?.["access-control-expose-headers"] ?? []].flat().join(", ")
    headers["vary"] = "origin"
  }
  response.writeHead(answer.status, headers)
  response.end(answer.body)
}
