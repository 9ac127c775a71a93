// Keeps pages of other sites, and names rebound to this machine, from talking to the service through a browser: an
// Origin must be configured, the service's own or local; on a loopback address the Host must be local as well.
import type { IncomingMessage } from "node:http"
import { AppError } from "../../kernel/errors.ts"

const local = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/i

/** Throws `permission_denied`. */
export function refuseForeignOrigin(request: IncomingMessage, args: { origins: readonly string[]; publicUrl: string }): void {
  const own = new URL(args.publicUrl)
  const { origin, host = "" } = request.headers
  const onLoopback = local.test(addressName(request.socket.localAddress))
  const hostName = /^(\[[^\]]+\]|[^:]*)(?::\d+)?$/.exec(host)?.[1] ?? host
  if (onLoopback && !local.test(hostName) && hostName.toLowerCase() !== own.hostname) throw foreign("Host", host)
  if (origin === undefined || args.origins.includes("*") || args.origins.includes(origin) || origin === own.origin) return
  if (!(onLoopback && URL.canParse(origin) && local.test(new URL(origin).hostname))) throw foreign("Origin", origin)
}

function addressName(address = ""): string {
  const plain = address.replace(/^::ffff:/, "")
  return plain === "::1" ? "[::1]" : plain
}

function foreign(header: string, value: string): AppError {
  const message = `${header}: "${value}" is not allowed; add it to server.cors_origins, or set MILLRACE_PUBLIC_URL.`
  return new AppError("permission_denied", message, { reason: "origin_not_allowed" })
}
