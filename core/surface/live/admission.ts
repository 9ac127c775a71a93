// Identifies the client of a socket and its permitted channels. A token sees its organization's channels. An anonymous viewer
// sees only the public channels of one endpoint.
import type { Authenticator, Caller } from "../../contract/caller.ts"
import { type Channel, coversChannel, isReservedChannel, type ViewerTokens } from "../../contract/channel.ts"
import type { Pauses } from "../../contract/pauses.ts"
import { AppError } from "../../kernel/errors.ts"
import type { Ids } from "../../kernel/ids.ts"
import type { Logger } from "../../kernel/log.ts"
import type { AddressLimits } from "../call/address-limits.ts"
import { authorise, requireOrganization } from "../call/authorise.ts"

export type Guest =
  | { readonly kind: "caller"; readonly caller: Caller; readonly bearer: string; readonly selected: string | undefined }
  | { readonly kind: "viewer"; readonly organization: string; readonly endpoint: string; readonly pipeline: string }

export interface EndpointOwner {
  readonly organization: string
  readonly pipeline: string
}

export interface AdmissionDeps {
  readonly authenticator: Authenticator
  readonly ids: Ids
  readonly log: Logger
  /** Organizations without live connections. */
  readonly pauses: Pauses
  /** Counts handshakes without a valid credential. */
  readonly addresses?: AddressLimits
  /** Returns the owner of an inbound endpoint. Undefined for an unknown endpoint or an inactive pipeline. */
  readonly ownerOfEndpoint: (endpointId: string) => Promise<EndpointOwner | undefined>
  /** Undefined if no plugin creates viewer tokens. */
  readonly viewerTokens?: (() => ViewerTokens | undefined) | undefined
}

/** A JWT: three parts of base64url. Keys of this service contain no dot. */
const viewerToken = /^[\w-]+\.[\w-]+\.[\w-]+$/

/**
 * Reads the handshake's `auth`: `{ token, organization? }`, or `{ endpoint_id }` with an optional viewer token. Throws AppError.
 */
export async function admit(deps: AdmissionDeps, auth: Readonly<Record<string, unknown>>, address?: string): Promise<Guest> {
  const { token, endpoint_id: endpoint, organization: selected } = auth
  if (typeof token === "string" && token !== "" && endpoint === undefined) {
    if (viewerToken.test(token)) throw viewerWithoutEndpoint()
    if (selected !== undefined && typeof selected !== "string") throw badHandshake("organization must be a UUID or slug")
    return { kind: "caller", caller: await authenticate(deps, token, selected, address), bearer: token, selected }
  }
  if (typeof endpoint !== "string" || endpoint === "") {
    throw new AppError("unauthenticated", "A socket's handshake carries auth: { token }, or auth: { endpoint_id } for public channels.", {
      reason: "missing_credential",
    })
  }
  if (!/^in_[0-9A-Za-z]{22}$/.test(endpoint)) throw badHandshake("endpoint_id must be in_ and 22 letters or digits")
  await deps.addresses?.take(address)
  const owner = await deps.ownerOfEndpoint(endpoint)
  if (owner === undefined) throw new AppError("not_found", `No active endpoint has the id "${endpoint}".`, { reason: "unknown_endpoint" })
  deps.pauses.refuse(owner.organization)
  if (typeof token === "string" && token !== "") await checkViewer(deps, token, owner.organization)
  return { kind: "viewer", endpoint, ...owner }
}

/** A viewer token is valid only for public channels of the endpoint's own organization. */
async function checkViewer({ viewerTokens }: AdmissionDeps, token: string, organization: string): Promise<void> {
  const session = viewerToken.test(token) ? await viewerTokens?.()?.verify(token) : undefined
  if (session && "organization_id" in session && session.organization_id === organization) return
  const reason = session && "error" in session && session.error === "expired" ? "expired_token" : "invalid_token"
  const what =
    reason === "expired_token" ? "has expired; create a new one with POST /v1/viewer-sessions" : "is not a viewer's token for this endpoint"
  throw new AppError("unauthenticated", `The token ${what}.`, { reason })
}

function viewerWithoutEndpoint(): AppError {
  const message =
    "A viewer's token subscribes to public channels and needs their endpoint: auth: { token, endpoint_id } (in millrace/live: token and endpointId)."
  return new AppError("unauthenticated", message, { reason: "viewer_token" })
}

/** Authenticates again for a socket open for some time. */
export async function authenticate(
  deps: AdmissionDeps,
  bearer: string,
  organization: string | undefined,
  address?: string,
): Promise<Caller> {
  const requestId = deps.ids.uuid()
  const log = deps.log.child({ request_id: requestId })
  const prove = () => deps.authenticator.authenticate({ bearer, organization, surface: "live", address, requestId, log })
  const admitted = await (deps.addresses?.guard(address, prove) ?? prove())
  authorise({ scope: "live:subscribe", role: "guest" }, admitted, "a live connection")
  const caller = requireOrganization(admitted, "a live connection")
  deps.pauses.refuse(caller.organization.id)
  return caller
}

/**
 * Throws `permission_denied` or `not_found` if this guest may not join the channel. Channels of the service require the scope of
 * their reads.
 */
export function mayJoin(guest: Guest, channel: string, declared: readonly Channel[]): void {
  const known = declared.find(({ name }) => coversChannel(name, channel))
  const reserved = known !== undefined || isReservedChannel(channel)
  if (guest.kind === "viewer") {
    if (reserved)
      throw new AppError("permission_denied", `The channel "${channel}" is reserved for the service, and never public.`, {
        reason: "reserved_channel",
      })
    return
  }
  if (reserved && !known) {
    throw new AppError("not_found", `The channel "${channel}" does not exist; names beside the service's own channels are reserved.`, {
      reason: "channel_not_found",
    })
  }
  const access = { scope: known?.scope ?? "live:subscribe", role: known?.role ?? ("member" as const) }
  authorise(access, guest.caller, `the channel "${channel}"`)
}

function badHandshake(problem: string): AppError {
  return new AppError("invalid_argument", `The handshake's auth is wrong: ${problem}.`, { reason: "invalid_handshake" })
}
