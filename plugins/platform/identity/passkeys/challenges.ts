// Challenges of passkeys: stored, valid for five minutes and for one response. The holder is a session, or the cookie nonce of a
// browser without a session.
import { randomBytes } from "node:crypto"
import { isIP } from "node:net"
import { AppError, type Clock, derivedUuid, type Store, timestamp, type UnitOfWork } from "#core"
import { hashKey } from "../key-format.ts"
import { PasskeyChallengesCollection } from "./collections.ts"

export interface Challenged {
  readonly purpose: "add" | "sign_in"
  /** Id of the session, or the nonce of the browser. */
  readonly holder: string
}

const validMs = 300_000

/** Stages a challenge. An earlier challenge of the same purpose and holder ends. */
export function issueChallenge(work: UnitOfWork, clock: Clock, challenged: Challenged): { challenge: string; expires_at: string } {
  const fields = { challenge: randomBytes(32).toString("base64url"), expires_at: timestamp(clock.now() + validMs) }
  work.in(PasskeyChallengesCollection).update(challengeId(challenged), { $set: fields }, { upsert: true })
  return fields
}

/** Stages the use of the challenge. Undefined for a used or expired challenge. Of concurrent uses one commit succeeds. */
export async function useChallenge(
  work: UnitOfWork,
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  challenged: Challenged,
): Promise<string | undefined> {
  const id = challengeId(challenged)
  const challenge = await store.open(PasskeyChallengesCollection).get(id)
  if (!challenge || Date.parse(challenge.expires_at) <= clock.now()) return undefined
  work.in(PasskeyChallengesCollection).remove(id, { where: { challenge: challenge.challenge } })
  return challenge.challenge
}

function challengeId({ purpose, holder }: Challenged): string {
  return derivedUuid("passkey challenge", purpose, hashKey(holder))
}

// The site of passkeys, from the public URL of the service. The Host header of a request has no influence.

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
