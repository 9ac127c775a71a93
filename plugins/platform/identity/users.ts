// Users of the service: creation, reading, changes and deletion. Organizations store their own memberships.
import {
  type AnyCaller,
  AppError,
  allKeys,
  CacheInvalidation,
  Clock,
  callerKind,
  type Deps,
  type Filter,
  Ids,
  Store,
  timestamp,
  token,
  type UnitOfWork,
  type Update,
} from "#core"
import { GenerationCache } from "#core/engine"
import { type User, UsersCollection } from "./collections.ts"

export type UserChange = Partial<Pick<User, "email" | "name" | "staff">>
export type Departure = (work: UnitOfWork, user: User) => Promise<void> | void

export interface Users {
  /** `staff` is true if the user is marked as staff or listed in the configuration. */
  get(id: string): Promise<User | undefined>
  /** Finds a user by address, ignoring case. */
  byEmail(email: string): Promise<User | undefined>
  /** Returns the existing users among at most 1,000 ids, by address. */
  findMany(ids: readonly string[]): Promise<User[]>
  /** Returns true if the user is marked as staff or listed in the configuration. */
  isStaff(user: Pick<User, "email" | "staff">): boolean
  /** Adds staff addresses of the configuration, in lower case. Call this while services are created. */
  declareStaff(emails: Iterable<string>): void
  /** Stages a user. A taken address fails the commit as `already_exists`. */
  add(work: UnitOfWork, input: { email: string; name?: string; staff?: boolean }): User
  /** Stages new fields. A taken address fails the commit as `already_exists`, an unmet `where` as `aborted`. */
  update(work: UnitOfWork, id: string, change: UserChange, where?: Filter): void
  /** Stages the user's membership in an organization. */
  addOrganization(work: UnitOfWork, id: string, organization: string): void
  /** Stages the end of the user's membership in an organization. */
  removeOrganization(work: UnitOfWork, id: string, organization: string): void
  /** Stages the deletion of the user, with the work of every departure hook. */
  remove(work: UnitOfWork, user: User): Promise<void>
  /** Runs before a user is deleted, in the same unit of work. Call this while services are created. */
  onDeparture(hook: Departure): void
}

export const Users = token<Users>("Users")

/** Invalidation topic; announced with the id of a changed user. */
const usersTopic = "users"

export const usersNeeds = { store: Store, invalidation: CacheInvalidation, clock: Clock, ids: Ids }

export function createUsers({ store, invalidation, clock, ids }: Deps<typeof usersNeeds>): Users {
  const staff = new Set<string>()
  const hooks: Departure[] = []
  const cache = new GenerationCache<User>(10_000)
  invalidation.onChange(usersTopic, (key) => (key === allKeys ? cache.clear() : cache.drop(key)))

  const collection = () => store.open(UsersCollection)
  const isStaff: Users["isStaff"] = (user) => user.staff || staff.has(user.email)
  const withStaff = (user: User): User => ({ ...user, staff: isStaff(user) })
  const change = (work: UnitOfWork, id: string, update: Update, where?: Filter) => {
    work.in(UsersCollection).update(id, update, where && { where })
    invalidation.announce(work, usersTopic, id, { settled: true })
  }

  return {
    get: (id) =>
      cache.load(id, async () => {
        const user = await collection().get(id)
        return user && withStaff(user)
      }),
    async byEmail(email) {
      if (email.trim() === "") return undefined
      const user = await collection().first({ email: normalEmail(email) })
      return user && withStaff(user)
    },
    async findMany(userIds) {
      return (await collection().find({ id: { $in: [...userIds] } }, { sort: { email: 1 }, limit: 1_000 })).map(withStaff)
    },
    isStaff,
    declareStaff(emails) {
      for (const email of emails) staff.add(email)
    },
    add(work, { email, name = "", staff: isMarked = false }) {
      const created_at = timestamp(clock.now())
      const user: User = { id: ids.uuid(), email: normalEmail(email), name, staff: isMarked, organization_ids: [], created_at }
      work.in(UsersCollection).insert(user)
      return user
    },
    update(work, id, { email, ...fields }, where) {
      change(work, id, { $set: { ...fields, ...(email === undefined ? {} : { email: normalEmail(email) }) } }, where)
    },
    addOrganization: (work, id, organization) => change(work, id, { $addToSet: { organization_ids: organization } }),
    removeOrganization: (work, id, organization) => change(work, id, { $pull: { organization_ids: organization } }),
    async remove(work, user) {
      const current = (await collection().get(user.id)) ?? user
      for (const hook of hooks) await hook(work, current)
      // The hooks end every membership. A concurrent new membership refuses the commit.
      work.in(UsersCollection).remove(user.id, { where: { organization_ids: [] } })
      invalidation.announce(work, usersTopic, user.id, { settled: true })
    },
    onDeparture: (hook) => void hooks.push(hook),
  }
}

function normalEmail(email: string): string {
  return email.trim().toLowerCase()
}

interface Person {
  readonly user: User
  /** Id of the session. */
  readonly session: string
}

/** Throws `permission_denied` for an agent, for a key without a user, and for a key acting in a managed organization. */
export function userOf(caller: AnyCaller): string {
  const { user, manager } = caller
  if (user && !manager && callerKind(caller) !== "agent") return user.id
  const message = "This call is about a person; use a session, or a key that a person created, in its own organization."
  throw new AppError("permission_denied", message, { reason: "no_person" })
}

/** Throws `permission_denied` for a key, a token and a session opened with a key. A leaked key must not become a sign-in. */
export async function requirePerson({ signIn, user, credential }: AnyCaller, users: Users, action: string): Promise<Person> {
  const account = signIn && user && (await users.get(user.id))
  if (account) return { user: account, session: credential.id }
  const message = `${action} needs a person who signed in by mail or passkey; keys and sessions opened with keys have no account.`
  throw new AppError("permission_denied", message, { reason: "not_a_person" })
}

/** Address of first users from earlier versions. */
const placeholder = "owner@localhost"

/** The first user has no name and no address until an operator's link, or the first key, sets both. */
export function isUnclaimed({ email }: Pick<User, "email">): boolean {
  return email === "" || email === placeholder
}

export async function unclaimedOwner(store: Store): Promise<User | undefined> {
  return await store.open(UsersCollection).first({ email: { $in: ["", placeholder] } })
}

/** Stages the name and the address of the first user. Throws `already_exists` for another user's address. */
export async function claim(work: UnitOfWork, users: Users, owner: User, input: { name: string; email: string }): Promise<User> {
  const holder = await users.byEmail(input.email)
  // A concurrent claim gave the owner this address. The update below conflicts.
  if (holder && holder.id !== owner.id) {
    const message = `email: another user has the address "${input.email}"; give another one, or sign in with it.`
    throw new AppError("already_exists", message, { reason: "email_taken" })
  }
  users.update(work, owner.id, input, { email: owner.email })
  return { ...owner, ...input }
}
