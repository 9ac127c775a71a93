// Users of the service: created, read, changed and deleted. Organizations keep their own memberships.
import {
  allKeys,
  CacheInvalidation,
  Clock,
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
  /** `staff` is true if the user is marked, or named by the configuration. */
  get(id: string): Promise<User | undefined>
  /** By address, in any case. */
  byEmail(email: string): Promise<User | undefined>
  /** Existing users among at most 1,000 ids, by address. */
  findMany(ids: readonly string[]): Promise<User[]>
  /** Returns true if the user is marked as staff, or named by the configuration. */
  isStaff(user: Pick<User, "email" | "staff">): boolean
  /** Adds addresses of staff by configuration, in lower case. To be called while services are created. */
  declareStaff(emails: Iterable<string>): void
  /** Stages a user; a taken address fails the commit as `already_exists`. */
  add(work: UnitOfWork, input: { email: string; name?: string; staff?: boolean }): User
  /** Stages new fields; a taken address fails the commit as `already_exists`, an unmet `where` as `aborted`. */
  update(work: UnitOfWork, id: string, change: UserChange, where?: Filter): void
  /** Stages that the user belongs to an organization. */
  addOrganization(work: UnitOfWork, id: string, organization: string): void
  /** Stages that the user left an organization. */
  removeOrganization(work: UnitOfWork, id: string, organization: string): void
  /** Stages the deletion of the user, with the work of every departure hook. */
  remove(work: UnitOfWork, user: User): Promise<void>
  /** Runs before a user is deleted, in the same unit of work. To be called while services are created. */
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
      // The hooks end every membership. A membership that begins meanwhile refuses the commit.
      work.in(UsersCollection).remove(user.id, { where: { organization_ids: [] } })
      invalidation.announce(work, usersTopic, user.id, { settled: true })
    },
    onDeparture: (hook) => void hooks.push(hook),
  }
}

function normalEmail(email: string): string {
  return email.trim().toLowerCase()
}
