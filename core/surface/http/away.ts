// Stands in for a server whose storage is gone: everything is answered 503, so that clients come again.
import { createServer } from "node:http"
import { AppError } from "../../kernel/errors.ts"
import type { Ids } from "../../kernel/ids.ts"
import { sendError } from "./answer.ts"
import { requestIdOf } from "./request-id.ts"

export interface AwayServer {
  close(): Promise<void>
}

const retryAfterS = 2

/** Listens beside others on the same port; throws where the system does not allow that. */
export function startAwayServer(at: { readonly host: string; readonly port: number }, ids: Ids): Promise<AwayServer> {
  const error = new AppError(
    "unavailable",
    "The service is starting again; try again in a moment.",
    { reason: "parent_away" },
    { retryAfterS },
  )
  const server = createServer((request, response) => {
    request.resume()
    response.setHeader("X-Request-Id", requestIdOf(request, ids))
    response.setHeader("Connection", "close")
    response.setHeader("Access-Control-Allow-Origin", request.headers.origin ?? "*")
    sendError(request, response, error)
  })
  return new Promise((resolve, reject) => {
    server.once("error", reject)
    server.listen({ ...at, reusePort: true }, () =>
      resolve({
        close: () =>
          new Promise((closed) => {
            server.close(() => closed())
            server.closeAllConnections()
          }),
      }),
    )
  })
}
