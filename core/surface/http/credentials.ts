// What a request says about who is calling.
import type { Request, Response } from "express"
import type { Credentials, Surface } from "../../contract/caller.ts"
import type { Logger } from "../../kernel/log.ts"

export function credentialsOf(
  request: Request,
  response: Response,
  { surface, log, address }: { surface: Surface; log: Logger; address: string },
): Credentials {
  const requestId = String(response.locals["requestId"])
  return {
    bearer: bearerOf(request),
    organization: request.get("x-organization-id") || undefined,
    surface,
    address,
    requestId,
    log: log.child({ request_id: requestId }),
  }
}

/** The token of `Authorization: Bearer <token>`; undefined for anything else, which the authenticator refuses. */
function bearerOf(request: Request): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(request.get("authorization") ?? "")?.[1]
}
