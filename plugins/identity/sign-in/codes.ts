// Sign-in by mail: a code of six digits and a link, both bound to the browser that asked for them, both for one use.
// The links of an operator are bound to no browser.
import { createHash, createHmac, randomBytes, randomInt } from "node:crypto"
import {
  AppError,
  type Clock,
  derivedUuid,
  type JobQueue,
  type Store,
  sameBytes,
  timestamp,
  token,
  type UnitsOfWork,
  type Vault,
} from "#core"
import type { SignIn } from "#core/engine"
import type { User, UserSession } from "../collections.ts"
import type { OpenedSession } from "../user-sessions.ts"
import type { Users } from "../users.ts"
import { type SignInAttempt, SignInAttemptsCollection } from "./collections.ts"
import { type CodeLimits, countRequest } from "./limits.ts"
import { stageSignInMail } from "./mail.ts"
import type { Browser, SignIns } from "./sign-ins.ts"

/** `nonce`: from the cookie of the browser. */
export type Proof =
  | { readonly nonce: string | undefined; readonly code: string }
  | { readonly nonce: string | undefined; readonly link: string }

export interface SignInCodes {
  /** Stores an attempt and mails its code, if the address belongs to a user. `next`: path of the console after the sign-in. */
  request(email: string, browser: Browser, next: string): Promise<{ readonly nonce: string; readonly expires_at: string }>
  /** Opens a session and uses the attempt up. `replaced`: the browser's earlier session. Throws `unauthenticated`. */
  enter(proof: Proof, browser: Browser, replaced?: UserSession): Promise<OpenedSession>
  /** Stores a link for a user, bound to no browser. Returns the token of the link. */
  issueLink(user: User, method: SignIn["method"]): Promise<{ readonly link: string; readonly expires_at: string }>
}

export const SignInCodes = token<SignInCodes>("SignInCodes")

interface SignInCodesDeps {
  readonly store: Store
  readonly works: UnitsOfWork
  readonly clock: Clock
  readonly vault: Vault
  readonly queue: JobQueue
  readonly users: Users
  readonly signIns: SignIns
}

const validMs = 600_000
const maxWrongTries = 5

export function createSignInCodes(deps: SignInCodesDeps, limits: CodeLimits): SignInCodes {
  const { store, works, clock, vault, users, signIns } = deps
  const key = vault.keyFor("sign-in codes")
  const codeHash = (id: string, code: string) => createHmac("sha256", key).update(`${id} ${code}`).digest("hex")

  function attemptOf(id: string, link: string, given: Pick<SignInAttempt, "email" | "method" | "device" | "address">): SignInAttempt {
    const now = clock.now()
    const times = { created_at: timestamp(now), expires_at: timestamp(now + validMs) }
    return { id, ...given, code_hash: null, link_hash: digestOf(link), wrong_tries: 0, ...times }
  }

  /** The attempt of this browser, or of an operator's link. */
  async function find(proof: Proof): Promise<SignInAttempt | undefined> {
    const attempts = store.open(SignInAttemptsCollection)
    const own = proof.nonce === undefined ? undefined : await attempts.get(attemptId(proof.nonce))
    const isOwn = "code" in proof || (own && sameBytes(own.link_hash, digestOf(proof.link)))
    const found = isOwn ? own : await attempts.get(attemptId(proof.link))
    const isValid = found && Date.parse(found.expires_at) > clock.now() && found.wrong_tries < maxWrongTries
    return isValid ? found : undefined
  }

  function holds({ id, code_hash, link_hash }: SignInAttempt, proof: Proof): boolean {
    if ("link" in proof) return sameBytes(link_hash, digestOf(proof.link))
    return code_hash !== null && sameBytes(code_hash, codeHash(id, proof.code))
  }

  return {
    async request(email, browser, next) {
      const [nonce, link] = [randomText(), randomText()]
      const code = String(randomInt(1_000_000)).padStart(6, "0")
      const id = attemptId(nonce)
      return await works.retryConflicts(async (work) => {
        await countRequest(work, deps, limits, { email, address: browser.address })
        const { device, address } = browser
        const attempt = { ...attemptOf(id, link, { email, method: "email_code", device, address }), code_hash: codeHash(id, code) }
        work.in(SignInAttemptsCollection).insert(attempt)
        stageSignInMail(work, deps, attempt, { code, link, next })
        return { nonce, expires_at: attempt.expires_at }
      })
    },
    async enter(proof, browser, replaced) {
      const outcome = await works.retryConflicts(async (work) => {
        const attempt = await find(proof)
        if (!attempt) return undefined
        const { id, wrong_tries, method } = attempt
        // Concurrent tries conflict here: each is counted, and one alone succeeds.
        const where = { wrong_tries }
        if (!holds(attempt, proof)) {
          work.in(SignInAttemptsCollection).update(id, { $set: { wrong_tries: wrong_tries + 1 } }, { where })
          return maxWrongTries - wrong_tries - 1
        }
        const user = await users.byEmail(attempt.email)
        if (!user) return undefined
        work.in(SignInAttemptsCollection).remove(id, { where })
        return await signIns.open(work, user, method, browser, replaced)
      })
      if (outcome === undefined || outcome === 0) throw ended()
      if (typeof outcome === "number") throw wrong(outcome)
      return outcome
    },
    async issueLink({ email }, method) {
      const link = randomText()
      const attempt = attemptOf(attemptId(link), link, { email, method, device: "", address: "" })
      await works.run((work) => work.in(SignInAttemptsCollection).insert(attempt))
      return { link, expires_at: attempt.expires_at }
    },
  }
}

function wrong(left: number): AppError {
  const message = `The code is wrong; ${left} ${left === 1 ? "try is" : "tries are"} left. Copy the code of the latest mail.`
  return new AppError("unauthenticated", message, { reason: "sign_in_code_wrong", tries_left: left })
}

function ended(): AppError {
  const message =
    "This code or link does not work: it was used, is older than ten minutes, or belongs to another browser. Ask for a new code."
  return new AppError("unauthenticated", message, { reason: "sign_in_code_ended" })
}

function attemptId(nonce: string): string {
  return derivedUuid("sign-in attempt", digestOf(nonce))
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex")
}

function randomText(): string {
  return randomBytes(24).toString("base64url")
}
