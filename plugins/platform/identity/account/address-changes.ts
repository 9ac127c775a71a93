// Changes of a person's address. A code verifies the new address; until then the old address stays. A taken address gets no code,
// with the same response.
import { AppError, type Clock, type JobQueue, type Store, token, type UnitOfWork, type UnitsOfWork, type Vault } from "#core"
import { type AddressChange, AddressChangesCollection, changeId, type User } from "../collections.ts"
import { countWrongTry, createMailedCodes, wrongCode } from "../mailed-code.ts"
import { stageNotice } from "../person-mail.ts"
import { type CodeLimits, countCode } from "../sign-in/limits.ts"
import type { UserSessions } from "../user-sessions.ts"
import type { Users } from "../users.ts"
import { stageAddressCode } from "./address-mail.ts"

export interface AddressChanges {
  /** Stages a change and the mails to both addresses. A later request replaces an earlier one. */
  request(work: UnitOfWork, user: User, email: string): Promise<{ readonly expires_at: string }>
  /** Stages the new address, and the end of the person's other sessions. Throws `invalid_argument` for a wrong code. */
  confirm(work: UnitOfWork, user: User, input: { readonly code: string; readonly session: string }): Promise<{ readonly email: string }>
  /** Stages the end of a pending change. */
  drop(work: UnitOfWork, user: string): void
}

export const AddressChanges = token<AddressChanges>("AddressChanges")

interface AddressChangesDeps {
  readonly store: Store
  readonly works: UnitsOfWork
  readonly clock: Clock
  readonly vault: Vault
  readonly queue: JobQueue
  readonly users: Users
  readonly sessions: UserSessions
}

export function createAddressChanges(deps: AddressChangesDeps, { perEmail }: Pick<CodeLimits, "perEmail">): AddressChanges {
  const { store, works, users, sessions } = deps
  const codes = createMailedCodes(deps, "address changes")

  /** Counts a wrong code in a commit of its own. Returns the change of a right code. */
  async function check(user: string, code: string): Promise<AddressChange> {
    const outcome = await works.retryConflicts(async (work) => {
      const change = await store.open(AddressChangesCollection).get(changeId(user))
      if (!change || !codes.isValid(change)) return 0
      const isTaken = (await users.byEmail(change.email)) !== undefined
      return codes.matches(change, code) && !isTaken ? change : countWrongTry(work.in(AddressChangesCollection), change)
    })
    if (outcome === 0) throw changeExpired()
    if (typeof outcome === "number") throw wrong(outcome)
    return outcome
  }

  /** Counts in a commit of its own: several people may request one address at once. */
  async function count(user: string, email: string): Promise<void> {
    const limit = { limit: perEmail, what: "for a new address" }
    await works.retryConflicts(async (work) => {
      await countCode(work, deps, { kind: "email", value: email, ...limit })
      await countCode(work, deps, { kind: "user", value: user, ...limit })
    })
  }

  return {
    async request(work, user, email) {
      await count(user.id, email)
      const id = changeId(user.id)
      const { code, fields } = codes.draw(id)
      const change = { email, ...fields }
      work.in(AddressChangesCollection).update(id, { $set: change }, { upsert: true })
      stageAddressCode(work, deps, { id, ...change }, code)
      stageNotice(work, deps, {
        to: user.email,
        heading: "A new address was requested for your account",
        intro: "This address holds until the new address confirms a code. Not you? End your other sessions.",
        fields: [{ label: "New address", value: email }],
      })
      return { expires_at: change.expires_at }
    },
    async confirm(work, user, { code, session }) {
      const { id, email, code_hash } = await check(user.id, code)
      work.in(AddressChangesCollection).remove(id, { where: { code_hash } })
      users.update(work, user.id, { email })
      await sessions.endAllOf(work, user.id, { except: session })
      stageNotice(work, deps, {
        to: user.email,
        heading: "The address of your account was changed",
        intro: "Your other sessions ended. Not you? Ask an owner of your organization, or the operator of this service, for recovery.",
        fields: [{ label: "New address", value: email }],
      })
      return { email }
    },
    drop: (work, user) => work.in(AddressChangesCollection).remove(changeId(user), { optional: true }),
  }
}

function wrong(triesLeft: number): AppError {
  return new AppError("invalid_argument", `code: it ${wrongCode(triesLeft)}`, { reason: "address_code_wrong", tries_left: triesLeft })
}

function changeExpired(): AppError {
  const message = "code: no change of address waits for it, or the code is older than ten minutes or was mistyped five times. Ask again."
  return new AppError("invalid_argument", message, { reason: "address_code_ended" })
}
