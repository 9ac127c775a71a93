// Random chains of keys, tokens and sessions, of this and of earlier versions. No decision violates the rule.
import { expect } from "chai"
import { Store, UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { ApiKeys, Organizations } from "../../../plugins/platform/organizations/index.ts"
import { randomFrom } from "../../random.ts"
import { byTier, seed } from "../../tier.ts"
import { collectionNamed } from "../collection-named.ts"
import { gatedNotes, memberOf, signedIn } from "./gated-notes.ts"

/** A credential from the test's view, without the service's own records. */
interface Drawn {
  readonly text: string
  readonly headers: Record<string, string>
  readonly kind: "api_key" | "token" | "agent" | "session" | "interactive"
  /** Root, users and managers of the whole chain. */
  readonly family: ReadonlySet<string>
  /** Person of an interactive session. */
  readonly person?: string
  /** User of the keys created with it; undefined for a service. */
  readonly user: string | undefined
  readonly decides: boolean
}

interface Refusal {
  readonly details?: { readonly reason?: string }
}

const scopes = ["approvals:write", "gated_notes:write", "api_keys:write"]

describe("deciders of approvals, drawn", () => {
  let host: TestHost
  before(async () => {
    host = await testHost({ plugins: [gatedNotes] })
  })
  after(() => host.stop())

  const first = (text: string, root: string, more: Partial<Drawn> = {}): Drawn => {
    const owned = { family: new Set([root, ...(more.user === undefined ? [] : [`user ${more.user}`])]), decides: more.user !== undefined }
    return { text, headers: {}, kind: "api_key", user: undefined, ...owned, ...more }
  }

  async function roots(): Promise<Drawn[]> {
    const organizations = host.get(Organizations)
    const members = await Promise.all(["ada", "bob"].map((name) => memberOf(host, name)))
    const manager = await host.get(UnitsOfWork).run((work) => {
      const { id } = organizations.create(work, { name: "Agency", slug: "agency" })
      organizations.setManager(work, host.organization.id, { id, role: "admin" })
      const keys = ["eve", "max"].map((name) => {
        const { id: user } = organizations.addUser(work, { email: `${name}@agency.example` })
        organizations.addMember(work, id, user, "owner")
        const keyOptions = { name, kind: "api_key", role: "owner", scopes: null, user } as const
        return { user, text: host.get(ApiKeys).mint(work, id, keyOptions).text }
      })
      return { id, keys }
    })
    const services = await host.get(UnitsOfWork).run((work) =>
      [1, 2].map((number) => {
        const keyOptions = { name: "service", kind: "api_key", role: "admin", scopes: null, user: null } as const
        return first(host.get(ApiKeys).mint(work, host.organization.id, keyOptions).text, `service ${number}`)
      }),
    )
    const headers = { "x-organization-id": host.organization.id }
    const persons = await Promise.all(
      [...members.map(({ user }) => ({ user, manager: [] })), ...manager.keys.map(({ user }) => ({ user, manager: [manager.id] }))].map(
        async (item) => ({
          text: await signedIn(host, item.user),
          headers,
          kind: "interactive" as const,
          family: new Set([item.user, `user ${item.user}`, ...item.manager]),
          person: item.user,
          user: item.manager.length === 0 ? item.user : undefined,
          decides: true,
        }),
      ),
    )
    return [
      ...persons,
      ...members.map(({ key, user }) => first(key, user, { user })),
      ...services,
      // Users of the manager are not members. Their keys in the client have no user.
      ...manager.keys.map(({ user, text }) =>
        first(text, user, { headers, family: new Set([user, `user ${user}`, manager.id]), decides: true }),
      ),
    ]
  }

  /** Creates a key, token or session with another credential. */
  async function createDrawn(parent: Drawn, random: () => number): Promise<Drawn> {
    const makesAll = parent.kind === "api_key" || parent.kind === "interactive"
    const kinds = makesAll ? (["api_key", "api_key", "token", "agent", "session"] as const) : (["agent"] as const)
    const drawn = kinds[Math.floor(random() * kinds.length)] ?? "agent"
    const kind = drawn === "session" && parent.headers["x-organization-id"] !== undefined ? "api_key" : drawn
    const { family, user } = parent
    if (kind === "session") {
      const headers = { "content-type": "application/json" }
      const response = await fetch(`${host.url}/console-session`, { method: "POST", headers, body: JSON.stringify({ key: parent.text }) })
      const text = /mr_session=([^;]+)/.exec(response.headers.get("set-cookie") ?? "")?.[1] ?? ""
      return { ...parent, text, kind }
    }
    const input = { name: "Drawn", role: "admin", kind, ...(kind === "api_key" ? {} : { scopes }) }
    const answer = await host.api<{ id: string; secret: string }>("POST", "/v1/api-keys", input, {
      key: parent.text,
      headers: parent.headers,
    })
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    if (random() < 0.4) {
      await host
        .get(UnitsOfWork)
        .run((work) =>
          work
            .in(collectionNamed<{ origins?: unknown }>(host, "api_keys"), host.organization.id)
            .update(answer.body.id, { $unset: { origins: true } }),
        )
    }
    return { text: answer.body.secret, headers: {}, kind, family, user, decides: kind === "api_key" && user !== undefined }
  }

  const requestApproval = async ({ text, headers }: Drawn) =>
    (await host.api<{ approval_id: string }>("POST", "/v1/gated-notes", { text: "Drawn" }, { key: text, headers })).body.approval_id
  const decide = async (id: string, { text, headers }: Drawn) => {
    const path = `/v1/approvals/${id}/decide`
    const { status, body } = await host.api<Refusal>("POST", path, { decision: "reject" }, { key: text, headers })
    return status === 200 ? "decided" : body.details?.reason
  }

  it("never decide across one root, user or manager, and decide everything else that a person may", async () => {
    const random = randomFrom(seed)
    const any = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
    const credentials = await roots()
    while (credentials.length < byTier({ fast: 40, slow: 120, soak: 400 })) {
      const parents = credentials.filter(({ kind }) => kind !== "session")
      credentials.push(await createDrawn(any(parents), random))
    }
    const outcomes = new Set<string>()
    const requests = byTier({ fast: 40, slow: 150, soak: 1_000 })
    for (let request = 0; request < requests; request++) {
      const needsSecond = request >= requests / 2
      if (request === 0 || request === Math.ceil(requests / 2))
        await host.api("PATCH", "/v1/organization", { require_second_person: needsSecond })
      const asks = any(credentials)
      const id = await requestApproval(asks)
      for (let tries = 0, outcome: string | undefined; tries < 6 && outcome !== "decided"; tries++) {
        const decider = any(credentials)
        outcome = await decide(id, decider)
        expect(outcome, `request ${request} of ${asks.kind}, decided by ${decider.kind} (seed ${seed})`).to.equal(
          ruleOf(asks, decider, needsSecond),
        )
        outcomes.add(outcome ?? "")
      }
    }
    expect([...outcomes]).to.have.members(["own_request", "decided", "decider_not_a_person"])
    const stored = await host.get(Store).open(collectionNamed<{ origins?: unknown }>(host, "api_keys"), host.organization.id).find({})
    expect(stored.some(({ origins }) => origins === undefined)).to.equal(true)
  })
})

function ruleOf(asks: Drawn, decider: Drawn, needsSecond: boolean): string {
  const shared = [...decider.family].filter((value) => asks.family.has(value))
  const isOwnUser = shared.every((value) => value === decider.person || value === `user ${decider.person}`)
  if (shared.length > 0 && (needsSecond || !isOwnUser)) return "own_request"
  return decider.decides ? "decided" : "decider_not_a_person"
}
