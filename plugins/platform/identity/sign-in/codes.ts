// Sign-in by mail: a code of six digits and a link. Both are bound to the requesting browser and valid once. An operator's link
// works in any browser. The first owner verifies a new address by code before the link is consumed.
import { randomBytes } from "node:crypto"
import { AppError, Clock, type Deps, derivedUuid, JobQueue, Store, sameBytes, token, type UnitOfWork, UnitsOfWork, Vault } from "#core"
import { Mailer } from "../../../people/email/index.ts"
import { type SignInAttempt, SignInAttemptsCollection, type User, type UserSession } from "../collections.ts"
import { hashKey } from "../key-format.ts"
import { countWrongTry, createMailedCodes, wrongCode } from "../mailed-code.ts"
import { stageNotice } from "../person-mail.ts"
import type { OpenedSession } from "../user-sessions.ts"
import { claim, Users, unclaimedOwner } from "../users.ts"
import { type CodeLimits, countRequest } from "./limits.ts"
import { stageSignInMail } from "./mail.ts"
import { isSpent, type OperatorLink, readOperatorLink, spend } from "./operator-links.ts"
import { type Browser, SignIns } from "./sign-ins.ts"

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
  /** Opens a session and consumes the attempt. `replaced`: the browser's earlier session. Throws `unauthenticated`. */
  enter(proof: Proof, browser: Browser, replaced?: UserSession): Promise<OpenedSession>
  /** Sets name and address of the first user by an operator's link. If the service can send mail, first mails a code. */
  claimOwner(link: string, owner: FirstOwner | undefined, browser: Browser, replaced?: UserSession): Promise<OpenedSession | CodeSent>
}

export const SignInCodes = token<SignInCodes>("SignInCodes")

export const signInCodesNeeds = {
  store: Store,
  works: UnitsOfWork,
  clock: Clock,
  vault: Vault,
  queue: JobQueue,
  users: Users,
  signIns: SignIns,
  mailer: Mailer,
}

export function createSignInCodes(deps: Deps<typeof signInCodesNeeds>, limits: CodeLimits): SignInCodes {
  const { store, works, clock, vault, users, signIns, mailer } = deps
  const mailedCodes = createMailedCodes(deps, "sign-in codes")

  /** Stores an attempt and its mail. */
  function send(input: Pick<SignInAttempt, "email" | "method" | "claim">, browser: Browser, next: string): Promise<CodeSent> {
    const [nonce, link] = [randomText(), randomText()]
    const id = attemptId(nonce)
    const { code, fields } = mailedCodes.draw(id)
    const { device, address } = browser
    return works.retryConflicts(async (work) => {
      await countRequest(work, deps, limits, { email: input.email, address })
      const attempt = { id, ...input, ...fields, link_hash: hashKey(link), device, address }
      work.in(SignInAttemptsCollection).insert(attempt)
      stageSignInMail(work, deps, attempt, { code, link, next })
      return { nonce, expires_at: attempt.expires_at }
    })
  }

  /** Returns the attempt of this browser. */
  async function find(proof: Proof): Promise<SignInAttempt | undefined> {
    const attempt = proof.nonce === undefined ? undefined : await store.open(SignInAttemptsCollection).get(attemptId(proof.nonce))
    return attempt && mailedCodes.isValid(attempt) ? attempt : undefined
  }

  /** Returns the user of an attempt. Sets name and address of the first owner. */
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
      stageNotice(work, deps, {
        to: user.email,
        heading: "A link of the operator signed you in",
        intro: "Not you? End your other sessions, and ask the operator of the service.",
        fields: [{ label: "Used by", value: [browser.device, browser.address].filter(Boolean).join(", ") }],
      })
      return await signIns.open(work, user, "bootstrap", browser, replaced)
    })
  }

  return {
    request: (email, browser, next) => send({ email, method: "email_code", claim: null }, browser, next),
    async enter(proof, browser, replaced) {
      const operator = "link" in proof ? readOperatorLink(vault, clock.now(), proof.link) : undefined
      if (operator) return (await enterByOperator(operator, browser, replaced)) ?? refuse(codeExpired())
      const outcome = await works.retryConflicts(async (work) => {
        const attempt = await find(proof)
        if (!attempt) return undefined
        const { id, link_hash, wrong_tries, method } = attempt
        // A link has too many values to guess.
        if ("link" in proof && !sameBytes(link_hash, hashKey(proof.link))) return undefined
        if ("code" in proof && !mailedCodes.matches(attempt, proof.code)) return countWrongTry(work.in(SignInAttemptsCollection), attempt)
        const user = await userOf(work, attempt)
        if (!user) return undefined
        // Concurrent tries conflict, so one of them succeeds.
        work.in(SignInAttemptsCollection).remove(id, { where: { wrong_tries } })
        return await signIns.open(work, user, method, browser, replaced)
      })
      if (outcome === undefined || outcome === 0) throw codeExpired()
      if (typeof outcome === "number") throw wrong(outcome)
      return outcome
    },
    async claimOwner(link, input, browser, replaced) {
      const operator = readOperatorLink(vault, clock.now(), link)
      const owner = operator && "owner" in operator.target ? await unclaimedOwner(store) : undefined
      if (!operator || !owner || (await isSpent(store, operator.id))) throw unknownLink()
      if (!input) {
        const message = "The first owner needs a name and an address; send both with the link."
        throw new AppError("invalid_argument", message, { reason: "owner_unnamed" })
      }
      const { name, email } = input
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

function wrong(triesLeft: number): AppError {
  return new AppError("unauthenticated", `The code ${wrongCode(triesLeft)}`, { reason: "sign_in_code_wrong", tries_left: triesLeft })
}

function unknownLink(): AppError {
  const message = "This link was used already, or its ten minutes are over; sign in by mail or with a key."
  return new AppError("unauthenticated", message, { reason: "sign_in_code_unknown" })
}

function codeExpired(): AppError {
  const message =
    "This code or link does not work: it was used, had five wrong tries, is older than ten minutes, or belongs to another browser. Ask for a new code."
  return new AppError("unauthenticated", message, { reason: "sign_in_code_ended" })
}

function attemptId(nonce: string): string {
  return derivedUuid("sign-in attempt", hashKey(nonce))
}

function randomText(): string {
  return randomBytes(24).toString("base64url")
}
