// Sign-in with a passkey. The browser shows the passkeys of this site, so the person types no address. In a session of the same
// person the sign-in makes the session fresh.
import { randomBytes } from "node:crypto"
import type { PublicKeyCredentialRequestOptionsJSON } from "@simplewebauthn/server"
import { AppError, type Logger, timestamp, token, type UnitOfWork, type UnitsOfWork } from "#core"
import type { UserSession } from "../collections.ts"
import type { Browser, SignIns } from "../sign-in/sign-ins.ts"
import type { OpenedSession } from "../user-sessions.ts"
import type { Users } from "../users.ts"
import { type PasskeyAnswer, verifyPasskey, webauthn } from "./answers.ts"
import { issueChallenge, relyingPartyOf, useChallenge } from "./challenges.ts"
import { PasskeysCollection, passkeyId } from "./collections.ts"
import type { PasskeysDeps } from "./passkeys.ts"

export interface PasskeyOffer {
  /** For `navigator.credentials.get`. */
  readonly options: PublicKeyCredentialRequestOptionsJSON
  /** For the cookie of the browser. */
  readonly nonce: string
  readonly expires_at: string
}

export interface PasskeySignIns {
  /** Stores a challenge for a browser. */
  offer(): Promise<PasskeyOffer>
  /** Opens a session and consumes the challenge. `replaced`: the browser's earlier session. Throws `unauthenticated`. */
  enter(nonce: string | undefined, answer: PasskeyAnswer, browser: Browser, replaced?: UserSession): Promise<OpenedSession>
}

export const PasskeySignIns = token<PasskeySignIns>("PasskeySignIns")

interface PasskeySignInsDeps extends PasskeysDeps {
  readonly works: UnitsOfWork
  readonly users: Users
  readonly signIns: SignIns
  readonly log: Logger
}

const timeoutMs = 300_000

export function createPasskeySignIns(deps: PasskeySignInsDeps): PasskeySignIns {
  const { store, clock, works, users, signIns, publicUrl, log } = deps

  /** Undefined for an invalid response. A failed response consumes the challenge too. */
  async function stage(work: UnitOfWork, nonce: string, answer: PasskeyAnswer, browser: Browser, replaced?: UserSession) {
    const challenge = await useChallenge(work, deps, { purpose: "sign_in", holder: nonce })
    const passkey = challenge && (await store.open(PasskeysCollection).get(passkeyId(answer.id)))
    const user = passkey && (await users.get(passkey.user_id))
    if (!user || Buffer.from(answer.response.userHandle, "base64url").toString() !== user.id) return undefined
    const expected = { challenge, party: relyingPartyOf(publicUrl()) }
    const used = await verifyPasskey(answer, expected, passkey).catch((error: unknown) => {
      log.warn({ err: error, passkey: passkey.id, address: browser.address }, "a sign-in with a passkey was refused")
      return undefined
    })
    if (!used) return undefined
    const changes = { ...used, last_used_at: timestamp(clock.now()) }
    work.in(PasskeysCollection).update(passkey.id, { $set: changes }, { where: { counter: passkey.counter } })
    return await signIns.open(work, user, "passkey", browser, replaced)
  }

  return {
    async offer() {
      const party = relyingPartyOf(publicUrl())
      const nonce = randomBytes(24).toString("base64url")
      const { challenge, expires_at } = await works.run((work) => issueChallenge(work, clock, { purpose: "sign_in", holder: nonce }))
      const { generateAuthenticationOptions } = await webauthn()
      const options = await generateAuthenticationOptions({
        rpID: party.id,
        challenge: new Uint8Array(Buffer.from(challenge, "base64url")),
        timeout: timeoutMs,
        userVerification: "required",
      })
      return { options, nonce, expires_at }
    },
    async enter(nonce, answer, browser, replaced) {
      const session = nonce && (await works.retryConflicts((work) => stage(work, nonce, answer, browser, replaced)))
      if (session) return session
      const message = "The passkey is not accepted: it is unknown here, or its challenge was used or is older than five minutes. Try again."
      throw new AppError("unauthenticated", message, { reason: "passkey_refused" })
    },
  }
}
