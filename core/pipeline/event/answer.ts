// What an inbound request is answered with: plain data until the last moment, so that the life of an event does not know
// of sockets.
import type { Reply } from "../../contract/action.ts"
import type { Json } from "../../contract/collection.ts"
import type { AppError } from "../../kernel/errors.ts"

export interface Answer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string
}

export function answerError(error: AppError): Answer {
  return answerReply(errorReply(error))
}

export function answerReply(reply: Reply): Answer {
  const text = typeof reply.body === "string"
  const headers = { "content-type": text ? "text/plain; charset=utf-8" : "application/json", ...reply.headers }
  return { status: reply.status, headers, body: reply.body === null ? "" : text ? (reply.body as string) : JSON.stringify(reply.body) }
}

export function acceptedReply(executionId: string): Reply {
  return { status: 200, headers: {}, body: { status: "accepted", execution_id: executionId } }
}

/** An error as a reply, for the journal and the answer alike. */
export function errorReply(error: AppError): Reply {
  const headers = error.retryAfterS === undefined ? {} : { "retry-after": String(error.retryAfterS) }
  return { status: error.status, headers, body: error.toBody() as unknown as Json }
}

/** The reply that a journal entry tells of. */
export function parsedReply(response: { status: number; body: string } | null): Reply {
  const { status, body } = response ?? { status: 200, body: "" }
  try {
    return { status, headers: {}, body: JSON.parse(body) as Json }
  } catch {
    return { status, headers: {}, body }
  }
}
