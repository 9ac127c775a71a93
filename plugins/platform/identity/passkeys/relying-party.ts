// The site that passkeys belong to, from the public URL of the service. The Host header of a request has no influence.
import { isIP } from "node:net"
import { AppError } from "#core"

export interface RelyingParty {
  /** Host name. A passkey works for this name alone. */
  readonly id: string
  readonly origin: string
}

/** Throws `failed_precondition` if browsers refuse passkeys for this URL. */
export function relyingPartyOf(publicUrl: string): RelyingParty {
  const { protocol, hostname, origin } = new URL(publicUrl)
  const isLocal = hostname === "localhost" || hostname.endsWith(".localhost")
  const isName = !isIP(hostname) && !hostname.startsWith("[")
  if (isName && (protocol === "https:" || isLocal)) return { id: hostname, origin }
  const message = `server.public_url: browsers refuse passkeys for "${origin}". Set an https URL with a host name, or http://localhost.`
  throw new AppError("failed_precondition", message, { reason: "passkeys_unavailable" })
}
