// Visitor ids without stored identities. An id is a hash of organization, page origin, address and user agent under a daily salt.
// The salt is deleted after two days, so the id cannot be reversed. A session open at a change of the salt keeps its id.
// With the cookie configured, the id is the cookie's and lasts longer.
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

/** Sealing context of a day's salt. */
function saltContext(day: string): string {
  return `page visitors ${day}`
}

export interface Visit {
  readonly organization: string
  /** Origin of published pages. */
  readonly origin: string
  readonly address: string
  readonly agent: string
}

/** The session in which a page is served. */
export interface ShownSession {
  readonly id: string
  /** Campaign from the session's earlier pages; blank if they had no campaign. */
  readonly campaign: Readonly<Record<string, string>>
  /** No session is open. The session begins with the page's first event, and gets this id if the event arrives soon. */
  readonly begins: boolean
}

/** Visitor, session and variant in a page's envelope. */
export interface Shown {
  readonly organization: string
  readonly page: string
  /** Empty if the page has no visitor; session and variant likewise. */
  readonly visitor: string
  readonly session: string
  readonly variant: string
}

/** Session data from the session store. */
export interface VisitorSessions {
  isOpen(organization: string, visitor: string): Promise<boolean>
  shown(organization: string, visitor: string): Promise<ShownSession>
}

export interface Visitors {
  /** Returns the id without a cookie: yesterday's id while its session is open, otherwise today's id. */
  of(visit: Visit): Promise<string>
  /** Returns undefined if no session store is registered. */
  session(organization: string, visitor: string): Promise<ShownSession | undefined>
  /** Returns a proof that this service served the page with these values. Only this service can check it. Valid for a day. */
  prove(shown: Shown, begins: boolean): string
  /** Returns undefined if the proof is invalid. */
  proven(shown: Shown, proof: string): { readonly begins: boolean; readonly ageMs: number } | undefined
  /** Registers the session store. Call it while services are created; without a store no session is open. */
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
      // The proof contains the start of its minute, so a page is never younger than its computed age.
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

/** Generated once for all nodes. If two nodes generate a salt at the same time, the first salt stays. */
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
