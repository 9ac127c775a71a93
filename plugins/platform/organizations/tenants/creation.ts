// Creates organizations: checks the right, the daily limit and the slug.
import { randomInt } from "node:crypto"
import {
  type AnyCaller,
  AppError,
  Clock,
  type Deps,
  defineCollection,
  derivedUuid,
  Store,
  slugOf,
  slugTaken,
  token,
  type UnitOfWork,
} from "#core"
import { Users } from "../../identity/index.ts"
import { countToday, type DayCount, type Organization } from "../collections.ts"
import { Organizations } from "../directory.ts"

export const selfServices = ["nobody", "owners", "everyone"] as const

/** Number of organizations created by a user on one day (UTC). */
export const CreationCountsCollection = defineCollection<DayCount>()({
  name: "organization_creations",
  scope: "global",
  times: ["expires_at"],
  indexes: [],
  expires: "expires_at",
})

export interface CreationRules {
  /** Permitted creators of organizations, besides the operator. */
  readonly self_service: (typeof selfServices)[number]
  /** For each user. */
  readonly max_created_per_day: number
}

export interface Creation {
  /** Returns true if the settings permit the caller to create an organization. */
  permits(caller: AnyCaller): boolean
  /**
   * Returns the new owner. For the operator: the user with the address, added if missing. Throws `permission_denied` if the
   * caller may not create organizations.
   */
  founder(work: UnitOfWork, caller: AnyCaller, owner: string | undefined): Promise<string>
  /** Stages an organization and its owner. Throws `resource_exhausted` at the day's limit of a user. */
  create(work: UnitOfWork, founder: string, input: OrganizationInput): Promise<Organization>
}

export const Creation = token<Creation>("Creation")

export interface OrganizationInput {
  readonly name: string
  readonly slug?: string
  readonly timeZone?: string
  /** The operator has no limit. */
  readonly isUnlimited: boolean
}

export const creationNeeds = { store: Store, clock: Clock, organizations: Organizations, users: Users }

const suffixLetters = "abcdefghijkmnpqrstuvwxyz23456789"
const suffixLength = 6

export function createCreation({ store, clock, organizations, users }: Deps<typeof creationNeeds>, rules: CreationRules): Creation {
  /** Stages an increment of the user's day. Throws `resource_exhausted` at the limit. */
  async function count(work: UnitOfWork, user: string): Promise<void> {
    const limit = rules.max_created_per_day
    const retryAfterS = await countToday({
      now: clock.now(),
      limit,
      idOf: (day) => derivedUuid("organization creations", user, day),
      stored: store.open(CreationCountsCollection),
      staged: work.in(CreationCountsCollection),
    })
    if (retryAfterS !== undefined) throw tooMany(limit, retryAfterS)
  }

  async function isTaken(slug: string): Promise<boolean> {
    return (await organizations.bySlug(slug)) !== undefined
  }

  async function freeSlug(name: string): Promise<string> {
    const slug = slugOf(name, "organization")
    // Random: concurrent calls with the same name get different slugs.
    return (await isTaken(slug)) ? `${slug}-${suffix()}` : slug
  }

  /** Returns the caller's user, or the error of a refusal. */
  function founderOf({ user, role }: AnyCaller): string | AppError {
    if (rules.self_service === "nobody") {
      return new AppError(
        "permission_denied",
        "plugins.settings.organizations.self_service is nobody: only the operator creates organizations, with `millrace organizations create`.",
        { reason: "self_service_off" },
      )
    }
    if (rules.self_service === "owners" && role === undefined) {
      const message =
        "organizations.create needs an owner of an organization, since plugins.settings.organizations.self_service is owners, and your session acts in none. Ask for an invitation, or have the operator run `millrace organizations create --owner EMAIL`."
      return new AppError("permission_denied", message, { reason: "no_organization" })
    }
    if (rules.self_service === "owners" && role !== "owner") {
      const message = `organizations.create needs the role "owner", since plugins.settings.organizations.self_service is owners; this credential acts as "${role}".`
      return new AppError("permission_denied", message, { reason: "role_too_low", needed_role: "owner", role })
    }
    if (user) return user.id
    const message =
      "This key belongs to no user, and an organization needs an owner. Use a session or key of a person, or have the operator run `millrace organizations create --owner EMAIL`."
    return new AppError("permission_denied", message, { reason: "user_required" })
  }

  return {
    permits: (caller) => caller.operator !== undefined || typeof founderOf(caller) === "string",
    async founder(work, caller, owner) {
      if (caller.operator === undefined) {
        const founder = founderOf(caller)
        if (typeof founder !== "string") throw founder
        return founder
      }
      if (owner === undefined) throw noOwner()
      return (await users.byEmail(owner))?.id ?? users.add(work, { email: owner }).id
    },
    async create(work, founder, { name, slug, timeZone, isUnlimited }) {
      if (slug !== undefined && (await isTaken(slug))) throw slugOfAnother(slug)
      if (!isUnlimited) await count(work, founder)
      const organization = organizations.create(work, {
        name,
        slug: slug ?? (await freeSlug(name)),
        ...(timeZone === undefined ? {} : { timeZone }),
        createdBy: founder,
      })
      organizations.addMember(work, organization.id, founder, "owner")
      return organization
    },
  }
}

/** The error for a current or former slug of another organization. */
export function slugOfAnother(slug?: string): AppError {
  const subject = slug === undefined ? "the slug" : `"${slug}"`
  return slugTaken(`slug: ${subject} belongs or belonged to another organization; choose another.`)
}

function noOwner(): AppError {
  return new AppError("invalid_argument", "owner: the operator gives the address of the owner, as in --owner ada@example.com.", {
    reason: "invalid_fields",
    fields: [{ path: "owner", message: "required from the operator" }],
  })
}

function tooMany(limit: number, retryAfterS: number): AppError {
  return new AppError(
    "resource_exhausted",
    `You created ${limit} organizations today, the most that plugins.settings.organizations.max_created_per_day allows; retry tomorrow (UTC).`,
    { reason: "daily_limit", limit },
    { retryAfterS },
  )
}

function suffix(): string {
  return Array.from({ length: suffixLength }, () => suffixLetters[randomInt(suffixLetters.length)]).join("")
}
