// Who a visitor is, without keeping who: an id made of organization, page origin, address and agent under a salt that is
// generated each day and gone two days later, so that nobody can go back from the id. A session that is open when the
// salt changes keeps its id. With the cookie configured, the id is the cookie's and lives longer.
import { createHmac, randomBytes } from "node:crypto"
import {
  Clock,
  type Deps,
  type Document,
  defineCollection,
  type Sealed,
  Store,
  sameBytes,
  timestamp,
  token,
  UnitsOfWork,
  Vault,
} from "#core"

interface SaltDocument extends Document {
  sealed: Sealed
  expires_at: string
}

/** `id` is the day, in UTC. */
export const SaltsCollection = defineCollection<SaltDocument>()({
  name: "page_visitor_salts",
  scope: "global",
  times: ["expires_at"],
  indexes: [],
  expires: "expires_at",
  sealed: ({ id, sealed }) => [{ path: "sealed", sealed, context: saltContext(id) }],
})

/** What the salt of a day is sealed with. */
function saltContext(day: string): string {
  return `page visitors ${day}`
}

export interface Visit {
  readonly organization: string
  /** Where pages are served from. */
  readonly origin: string
  readonly address: string
  readonly agent: string
}

/** The session that a page is shown in. */
export interface ShownSession {
  readonly id: string
  /** What brought the visitor, of what the session's pages said so far; blank where none did. */
  readonly campaign: Readonly<Record<string, string>>
  /** None is open: it begins with the page's first event, and has this id when that comes soon. */
  readonly begins: boolean
}

/** Who was shown what, as a page's envelope says. */
export interface Shown {
  readonly organization: string
  readonly page: string
  /** Empty where none was said; so are the session and the variant. */
  readonly visitor: string
  readonly session: string
  readonly variant: string
}

/** What the session store knows of visits. */
export interface VisitorSessions {
  isOpen(organization: string, visitor: string): Promise<boolean>
  shown(organization: string, visitor: string): Promise<ShownSession>
}

export interface Visitors {
  /** The id without a cookie: of the day before while its session is open, else of today. */
  of(visit: Visit): Promise<string>
  /** Undefined where nobody keeps sessions. */
  session(organization: string, visitor: string): Promise<ShownSession | undefined>
  /** Shows later, to this service only, that it said who was shown what; good for a day. */
  prove(shown: Shown, begins: boolean): string
  /** Undefined where it did not. */
  proven(shown: Shown, proof: string): { readonly begins: boolean; readonly ageMs: number } | undefined
  /** To be called while services are created; without it no session is open. */
  keepSessions(sessions: VisitorSessions): void
}

export const Visitors = token<Visitors>("Visitors")

const dayMs = 86_400_000
const minuteMs = 60_000
export const visitorsNeeds = { store: Store, works: UnitsOfWork, vault: Vault, clock: Clock }

export function createVisitors(deps: Deps<typeof visitorsNeeds>): Visitors {
  const { clock, vault } = deps
  const key = vault.keyFor("page visitors")
  const salts = new Map<string, Promise<Buffer>>()
  let sessions: VisitorSessions | undefined
  const isOpen = async (organization: string, visitor: string) => (await sessions?.isOpen(organization, visitor)) ?? false

  function salt(day: string): Promise<Buffer> {
    let loading = salts.get(day)
    if (!loading) {
      for (const old of salts.keys()) if (salts.size >= 3) salts.delete(old)
      loading = loadSalt(deps, day).catch((error: unknown) => {
        salts.delete(day)
        throw error
      })
      salts.set(day, loading)
    }
    return loading
  }
  const idOf = async (day: string, { organization, origin, address, agent }: Visit) =>
    createHmac("sha256", await salt(day))
      .update(JSON.stringify([organization, origin, address, agent]))
      .digest("base64url")
      .slice(0, 22)
  const mac = ({ organization, page, visitor, session, variant }: Shown, stamp: string) =>
    createHmac("sha256", key)
      .update(JSON.stringify([organization, page, visitor, session, variant, stamp]))
      .digest("base64url")
      .slice(0, 22)

  return {
    async of(visit) {
      const now = clock.now()
      const today = await idOf(dayOf(now), visit)
      if (await isOpen(visit.organization, today)) return today
      const before = await idOf(dayOf(now - dayMs), visit)
      return (await isOpen(visit.organization, before)) ? before : today
    },
    session: async (organization, visitor) => sessions?.shown(organization, visitor),
    prove(visit, begins) {
      const stamp = `${begins ? "b" : "o"}${Math.floor(clock.now() / minuteMs).toString(36)}`
      return `${stamp}.${mac(visit, stamp)}`
    },
    proven(visit, proof) {
      const [stamp = "", proofText = ""] = proof.split(".", 2)
      // The minute that it was given in, from its beginning: never younger than it is.
      const ageMs = clock.now() - Number.parseInt(stamp.slice(1), 36) * minuteMs
      return sameBytes(proofText, mac(visit, stamp)) && ageMs > -minuteMs && ageMs < dayMs
        ? { begins: stamp.startsWith("b"), ageMs }
        : undefined
    },
    keepSessions(visitorSessions) {
      sessions = visitorSessions
    },
  }
}

function dayOf(now: number): string {
  return timestamp(now).slice(0, 10)
}

/** Generated once for all nodes: of two that generate at the same time the first stays. */
async function loadSalt({ store, works, vault }: { store: Store; works: UnitsOfWork; vault: Vault }, day: string): Promise<Buffer> {
  const kept = () => store.open(SaltsCollection).get(day)
  const context = saltContext(day)
  const generated = async () => {
    const sealed = vault.seal(randomBytes(32).toString("base64"), context)
    const expires_at = timestamp(Date.parse(day) + 3 * dayMs)
    await works.run((work) => work.in(SaltsCollection).insert({ id: day, sealed, expires_at }, { ifPresent: "keep" }))
    return kept()
  }
  const stored = (await kept()) ?? (await generated())
  if (!stored) throw new Error(`The salt of ${day} was written, but cannot be read.`)
  return Buffer.from(vault.open(stored.sealed, context), "base64")
}
