// Answers as they are written to the socket, with what pages of other origins may do and read.
import type { ServerResponse } from "node:http"
import { AppError } from "../../kernel/errors.ts"
import { type Answer, answerError } from "../event/answer.ts"

export const preflight: Answer = {
  status: 204,
  headers: {
    "access-control-allow-methods": "POST, OPTIONS",
    "access-control-allow-headers": "content-type, authorization, x-request-id, x-service-test",
    "access-control-max-age": "600",
  },
  body: "",
}

/** What pages may read of an answer, beside what the pipeline itself exposes. */
const exposed = "x-request-id, retry-after"

export function methodNotAllowed(method: string): Answer {
  const answer = answerError(
    new AppError("unimplemented", `Events are sent by POST, not ${method}.`, { reason: "method_not_allowed" }, { status: 405 }),
  )
  return { ...answer, headers: { ...answer.headers, allow: "POST, OPTIONS" } }
}

/** Any page may post to a pipeline that lets it; the answer carries no credentials' worth. */
export function writeAnswer(response: ServerResponse, answer: Answer, requestId: string, origin: string | undefined): void {
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
