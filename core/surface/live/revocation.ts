// Disconnects sockets with revoked or expired credentials, and viewers of endpoints without an owner. Reacts to announced changes
// and finds other changes by periodic checks.

import { credentialsTopic } from "../../contract/caller.ts"
import { allKeys, type CacheInvalidation } from "../../contract/cluster.ts"
import { AppError } from "../../kernel/errors.ts"
import { type AdmissionDeps, authenticate, type Guest } from "./admission.ts"
import type { LiveServer, LiveSocket } from "./delivery.ts"

export interface RevocationDeps extends AdmissionDeps {
  readonly invalidation: CacheInvalidation
  /** Invalidation topic, with the owner's `pipeline` as key. Announces a possible change or loss of an endpoint's owner. */
  readonly endpointsTopic: string
}

const maxChanges = 10_000

/** Disconnects the sockets of a changed credential, including sockets in their handshake. */
export function watchCredentials(deps: RevocationDeps, io: LiveServer) {
  const changed = new Map<string, number>()
  let count = 0
  deps.invalidation.onChange(credentialsTopic, async (key) => {
    changed.delete(key)
    changed.set(key, ++count)
    for (const oldest of changed.keys()) {
      if (changed.size <= maxChanges) break
      changed.delete(oldest)
    }
    if (key === allKeys) return await recheck(deps, io)
    for (const socket of io.of("/").sockets.values()) {
      if (namesOf(socket.data.guest).includes(key)) socket.disconnect(true)
    }
  })
  return {
    count: () => count,
    since: (seen: number, guest: Guest) => [allKeys, ...namesOf(guest)].some((name) => (changed.get(name) ?? 0) > seen),
  }
}

/** Disconnects the anonymous sockets of an endpoint when its pipeline becomes inactive. */
export function watchEndpoints(deps: RevocationDeps, io: LiveServer): void {
  deps.invalidation.onChange(deps.endpointsTopic, (key) => recheckViewers(deps, io, (guest) => key === allKeys || guest.pipeline === key))
}

/** Disconnects the sockets of an organization when its pause begins. */
export function watchPauses(deps: RevocationDeps, io: LiveServer): void {
  deps.pauses.onChange((organization) => {
    if (!deps.pauses.has(organization)) return
    for (const socket of io.of("/").sockets.values()) {
      if (organizationOf(socket.data.guest) === organization) socket.disconnect(true)
    }
  })
}

export function organizationOf(guest: Guest): string {
  return guest.kind === "caller" ? guest.caller.organization.id : guest.organization
}

type Viewer = Extract<Guest, { kind: "viewer" }>

async function recheckViewers(deps: RevocationDeps, io: LiveServer, concerns: (guest: Viewer) => boolean): Promise<void> {
  const viewers = [...io.of("/").sockets.values()].flatMap((socket) => {
    const { guest } = socket.data
    return guest.kind === "viewer" && concerns(guest) ? [{ socket, guest }] : []
  })
  for (const [endpoint, sockets] of Map.groupBy(viewers, ({ guest }) => guest.endpoint)) {
    const owner = await deps.ownerOfEndpoint(endpoint)
    for (const { socket, guest } of sockets) if (owner?.organization !== guest.organization) socket.disconnect(true)
  }
}

/** Returns the possible names of this guest's credential in a change: its id, or the public id inside its text. */
function namesOf(guest: Guest): string[] {
  return guest.kind === "caller" ? [guest.caller.credential.id, ...guest.bearer.split("_")] : []
}

/** Authenticates each credential in use again. Disconnects sockets with expired credentials or without the right to subscribe. */
export async function recheck(deps: RevocationDeps, io: LiveServer): Promise<void> {
  await recheckViewers(deps, io, () => true)
  const groups = new Map<string, LiveSocket[]>()
  for (const socket of io.of("/").sockets.values()) {
    const { guest } = socket.data
    if (guest.kind !== "caller") continue
    const key = JSON.stringify([guest.bearer, guest.selected])
    groups.set(key, [...(groups.get(key) ?? []), socket])
  }
  for (const sockets of groups.values()) {
    const guest = sockets[0]?.data.guest
    if (guest?.kind !== "caller") continue
    try {
      const now = await authenticate(deps, guest.bearer, guest.selected)
      if (now.role === guest.caller.role) continue
    } catch (error) {
      const gone = error instanceof AppError && ["unauthenticated", "permission_denied", "not_found"].includes(error.code)
      if (!gone) continue
    }
    for (const socket of sockets) socket.disconnect(true)
  }
}
