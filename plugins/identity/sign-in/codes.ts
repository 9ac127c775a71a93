// Sign-in by mail: a code of six digits and a link, both bound to the browser that asked for them, both for one use.
// An operator's link is bound to no browser. The first owner proves a new address by a code before the link is used up.
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
  type UnitOfWork,
  type UnitsOfWork,
  type Vault,
} from "#core"
import type { Mailer } from "../../email/index.ts"
import type { User, UserSession } from "../collections.ts"
import type { OpenedSession } from "../user-sessions.ts"
import type { Users } from "../users.ts"
import { type SignInAttempt, SignInAttemptsCollection } from "./collections.ts"
import { claim, unclaimedOwner } from "./first-owner.ts"
import { type CodeLimits, countRequest } from "./limits.ts"
import { stageSignInMail } from "./mail.ts"
import { isSpent, type OperatorLink, readOperatorLink, spend } from "./operator-links.ts"
import type { Browser, SignIns } from "./sign-ins.ts"

/** `nonce`: from the cookie of the browser. */
export type Proof =
  | { readonly nonce: string | undefined; readonly code: string }
  | { readonly nonce: string | undefined; readonly link: string }

export interface FirstOwner {
  readonly name: string
  readonly email: string
}

export interface CodeSent {
  readonly nonce: string
  readonly expires_at: string
}

export interface SignInCodes {
  /** Stores an attempt and mails its code, if the address belongs to a user. `next`: path of the console after the sign-in. */
  request(email: string, browser: Browser, next: string): Promise<CodeSent>
  /** Opens a session and uses the attempt up. `replaced`: the browser's earlier session. Throws `unauthenticated`. */
  enter(proof: Proof, browser: Browser, replaced?: UserSession): Promise<OpenedSession>
  /** Sets name and address of the first user by an operator's link. Mails a code first if mail leaves the service. */
  claimOwner(link: string, owner: FirstOwner | undefined, browser: Browser, replaced?: UserSession): Promise<OpenedSession | CodeSent>
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
  readonly mailer: Pick<Mailer, "writesOutbox">
}

const validMs = 600_000
const maxWrongTries = 5

export function createSignInCodes(deps: SignInCodesDeps, limits: CodeLimits): SignInCodes {
  const { store, works, clock, vault, users, signIns, mailer } = deps
  const key = vault.keyFor("sign-in codes")
  const codeHash = (id: string, code: string) => createHmac("sha256", key).update(`${id} ${code}`).digest("hex")

  /** Stores an attempt and its mail. */
  function send(given: Pick<SignInAttempt, "email" | "method" | "claim">, browser: Browser, next: string): Promise<CodeSent> {
    const [nonce, link] = [randomText(), randomText()]
    const code = String(randomInt(1_000_000)).padStart(6, "0")
    const id = attemptId(nonce)
    const { device, address } = browser
    return works.retryConflicts(async (work) => {
      await countRequest(work, deps, limits, { email: given.email, address })
      const now = clock.now()
      const hashes = { code_hash: codeHash(id, code), link_hash: digestOf(link), wrong_tries: 0 }
      const times = { created_at: timestamp(now), expires_at: timestamp(now + validMs) }
      const attempt = { id, ...given, ...hashes, device, address, ...times }
      work.in(SignInAttemptsCollection).insert(attempt)
      stageSignInMail(work, deps, attempt, { code, link, next })
      return { nonce, expires_at: attempt.expires_at }
    })
  }

  /** The attempt of this browser. */
  async function find(proof: Proof): Promise<SignInAttempt | undefined> {
    const found = proof.nonce === undefined ? undefined : await store.open(SignInAttemptsCollection).get(attemptId(proof.nonce))
    const isValid = found && Date.parse(found.expires_at) > clock.now() && found.wrong_tries < maxWrongTries
    return isValid ? found : undefined
  }

  /** The user of an attempt. The first owner gets name and address here. */
  async function userOf(work: UnitOfWork, { email, claim: claimed }: Pick<SignInAttempt, "email" | "claim">): Promise<User | undefined> {
    if (claimed === null) return await users.byEmail(email)
    const owner = await unclaimedOwner(store)
    if (owner?.id !== claimed.user_id || (await isSpent(store, claimed.link_id))) return undefined
    spend(work, clock, claimed.link_id)
    return await claim(work, users, owner, { name: claimed.name, email })
  }

  /** Opens the session of an operator's link for a user. */
  async function enterByOperator(link: OperatorLink, browser: Browser, replaced?: UserSession): Promise<OpenedSession | undefined> {
    const { id, target } = link
    return await works.retryConflicts(async (work) => {
      const user = "email" in target ? await users.byEmail(target.email) : undefined
      if (!user || (await isSpent(store, id))) return undefined
      spend(work, clock, id)
      return await signIns.open(work, user, "bootstrap", browser, replaced)
    })
  }

  function holds({ id, code_hash, link_hash }: SignInAttempt, proof: Proof): boolean {
    if ("link" in proof) return sameBytes(link_hash, digestOf(proof.link))
    return code_hash !== null && sameBytes(code_hash, codeHash(id, proof.code))
  }

  return {
    request: (email, browser, next) => send({ email, method: "email_code", claim: null }, browser, next),
    async enter(proof, browser, replaced) {
      const operator = "link" in proof ? readOperatorLink(vault, clock.now(), proof.link) : undefined
      if (operator) return (await enterByOperator(operator, browser, replaced)) ?? refuse(ended())
      const outcome = await works.retryConflicts(async (work) => {
        const attempt = await find(proof)
        if (!attempt) return undefined
        const { id, wrong_tries, method } = attempt
        // Concurrent tries conflict here: each is counted, and one alone succeeds.
        const where = { wrong_tries }
        if (!holds(attempt, proof)) {
          // A link has too many values to guess.
          if ("link" in proof) return undefined
          work.in(SignInAttemptsCollection).update(id, { $set: { wrong_tries: wrong_tries + 1 } }, { where })
          return maxWrongTries - wrong_tries - 1
        }
        const user = await userOf(work, attempt)
        if (!user) return undefined
        work.in(SignInAttemptsCollection).remove(id, { where })
        return await signIns.open(work, user, method, browser, replaced)
      })
      if (outcome === undefined || outcome === 0) throw ended()
      if (typeof outcome === "number") throw wrong(outcome)
      return outcome
    },
    async claimOwner(link, given, browser, replaced) {
      const operator = readOperatorLink(vault, clock.now(), link)
      const owner = operator && "owner" in operator.target ? await unclaimedOwner(store) : undefined
      if (!operator || !owner || (await isSpent(store, operator.id))) throw unknownLink()
      if (!given) {
        const message = "The first owner needs a name and an address; send both with the link."
        throw new AppError("invalid_argument", message, { reason: "owner_unnamed" })
      }
      const { name, email } = given
      const claimed = { user_id: owner.id, name, link_id: operator.id }
      if (!mailer.writesOutbox) return await send({ email, method: "bootstrap", claim: claimed }, browser, "/console")
      return (
        (await works.retryConflicts(async (work) => {
          const user = await userOf(work, { email, claim: claimed })
          return user && (await signIns.open(work, user, "bootstrap", browser, replaced))
        })) ?? refuse(unknownLink())
      )
    },
  }
}

function refuse(error: AppError): never {
  throw error
}

function wrong(left: number): AppError {
  const message = `The code is wrong; ${left} ${left === 1 ? "try is" : "tries are"} left. Copy the code of the latest mail.`
  return new AppError("unauthenticated", message, { reason: "sign_in_code_wrong", tries_left: left })
}

function unknownLink(): AppError {
  const message = "This link was used already, or its ten minutes are over; sign in by mail or with a key."
  return new AppError("unauthenticated", message, { reason: "sign_in_code_unknown" })
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
