// A person's passkeys: added in a session, listed, renamed and removed.
import type { PublicKeyCredentialCreationOptionsJSON } from "@simplewebauthn/server"
import { AppError, type Clock, type PublicUrl, type Store, timestamp, token, type UnitOfWork } from "#core"
import type { User } from "../collections.ts"
import { algorithms, type NewPasskeyAnswer, verifyNewPasskey, webauthn } from "./answers.ts"
import { issueChallenge, relyingPartyOf, useChallenge } from "./challenges.ts"
import { type Passkey, PasskeysCollection, passkeyId } from "./collections.ts"

export interface Passkeys {
  /** Stages a challenge of the session. Returns the options for `navigator.credentials.create`. */
  offer(work: UnitOfWork, session: string, user: User): Promise<PublicKeyCredentialCreationOptionsJSON>
  /** Stages a passkey. Throws `invalid_argument` for an invalid response. */
  add(work: UnitOfWork, session: string, user: User, input: { readonly name: string; readonly answer: NewPasskeyAnswer }): Promise<Passkey>
  /** All passkeys of a user, oldest first. */
  list(user: string): Promise<Passkey[]>
  /** Throws `not_found` for passkeys of others too. */
  require(user: string, id: string): Promise<Passkey>
  rename(work: UnitOfWork, passkey: Passkey, name: string): void
  remove(work: UnitOfWork, passkey: Passkey): void
  /** Stages the removal of every passkey of a user, and returns their count. */
  removeAllOf(work: UnitOfWork, user: string): Promise<number>
}

export const Passkeys = token<Passkeys>("Passkeys")

export interface PasskeysDeps {
  readonly store: Store
  readonly clock: Clock
  readonly publicUrl: PublicUrl
}

const maxPasskeys = 20
const timeoutMs = 300_000

export function createPasskeys({ store, clock, publicUrl }: PasskeysDeps): Passkeys {
  const list = (user: string) =>
    store.open(PasskeysCollection).find({ user_id: user }, { sort: { created_at: 1, id: 1 }, limit: maxPasskeys * 2 })

  async function requireRoom(user: string): Promise<Passkey[]> {
    const passkeys = await list(user)
    if (passkeys.length < maxPasskeys) return passkeys
    const message = `You have ${passkeys.length} passkeys, and ${maxPasskeys} are the limit; remove one first.`
    throw new AppError("resource_exhausted", message, { reason: "too_many_passkeys" })
  }

  return {
    async offer(work, session, user) {
      const party = relyingPartyOf(publicUrl())
      const existing = await requireRoom(user.id)
      const { challenge } = issueChallenge(work, clock, { purpose: "add", holder: session })
      const { generateRegistrationOptions } = await webauthn()
      return await generateRegistrationOptions({
        rpName: "Millrace",
        rpID: party.id,
        userID: new Uint8Array(Buffer.from(user.id)),
        userName: user.email || "owner",
        userDisplayName: user.name || user.email || "Owner",
        challenge: new Uint8Array(Buffer.from(challenge, "base64url")),
        timeout: timeoutMs,
        attestationType: "none",
        authenticatorSelection: { residentKey: "required", userVerification: "required" },
        supportedAlgorithmIDs: algorithms,
        excludeCredentials: existing.map(({ credential_id, transports }) => ({ id: credential_id, transports })),
      })
    },
    async add(work, session, user, { name, answer }) {
      const party = relyingPartyOf(publicUrl())
      await requireRoom(user.id)
      const challenge = await useChallenge(work, { store, clock }, { purpose: "add", holder: session })
      if (challenge === undefined) throw passkeyRefused("its challenge was used or is older than five minutes")
      const credential = await verifyNewPasskey(answer, { challenge, party }).catch((cause: unknown) => {
        throw passkeyRefused("it does not fit this service, this session or its latest challenge", cause)
      })
      const id = passkeyId(credential.credential_id)
      const passkey: Passkey = { id, user_id: user.id, name, ...credential, created_at: timestamp(clock.now()), last_used_at: null }
      work.in(PasskeysCollection).insert(passkey)
      return passkey
    },
    list,
    async require(user, id) {
      const passkey = await store.open(PasskeysCollection).get(id)
      if (passkey?.user_id === user) return passkey
      throw new AppError("not_found", `You have no passkey ${id}; GET /v1/me/passkeys lists yours.`, { reason: "passkey_not_found" })
    },
    rename: (work, { id }, name) => work.in(PasskeysCollection).update(id, { $set: { name } }),
    remove: (work, { id }) => work.in(PasskeysCollection).remove(id),
    async removeAllOf(work, user) {
      let count = 0
      for await (const { id } of store.open(PasskeysCollection).stream({ user_id: user })) {
        work.in(PasskeysCollection).remove(id, { optional: true })
        count++
      }
      return count
    },
  }
}

function passkeyRefused(problem: string, cause?: unknown): AppError {
  const message = `answer: the new passkey is not accepted: ${problem}. Ask for new options and repeat.`
  return new AppError("invalid_argument", message, { reason: "passkey_answer_invalid" }, { cause })
}
