// The id by which a request is found again in logs, audit and answers: the client's own where it is well formed.
import type { IncomingMessage } from "node:http"
import type { Ids } from "../../kernel/ids.ts"

const pattern = /^[\w\-=.]{1,255}$/

export function requestIdOf(request: IncomingMessage, ids: Ids): string {
  const given = request.headers["x-request-id"]
  return typeof given === "string" && pattern.test(given) ? given : ids.uuid()
}
