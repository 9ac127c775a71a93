// Joining in a browser by the mailed link: as a new person, as a signed-in person, and with an invalid link.
import { expect } from "chai"
import { Store, UnitsOfWork } from "#core"
import type { TestHost } from "#core/testing"
import { UserSessions, Users } from "../../../../plugins/platform/identity/index.ts"
import { onBothStores } from "../../../pipeline/stores.ts"
import { until } from "../../../waiting.ts"
import { collectionNamed } from "../../collection-named.ts"

interface Body {
  readonly details?: { readonly reason?: string }
  readonly organization?: { readonly id: string }
  readonly role?: string
}

onBothStores("joining by a link in a browser", ({ start }) => {
  let host: TestHost
  before(async () => {
    host = await start({ capture: true })
  })

  const invite = async (email: string, on = host) => {
    const { body } = await on.api<{ link: string | null }>("POST", "/v1/member-invitations", { email, role: "member" })
    if (body.link !== null) return body.link.split("=").at(-1) ?? ""
    const latestMail = () => on.mails.findLast(({ to }) => to.includes(email))
    return (await until(`the invitation of ${email}`, () => /#code=(mr_join_[\w-]+)/.exec(latestMail()?.text ?? "")?.[1])) ?? ""
  }
  const join = async (
    code: string,
    { cookie, origin, name = "Grace" }: { cookie?: string; origin?: string; name?: string } = {},
    on = host,
  ) => {
    const headers = { "content-type": "application/json", ...(cookie ? { cookie } : {}), ...(origin ? { origin } : {}) }
    const answer = await fetch(`${on.url}/console-session/join`, { method: "POST", headers, body: JSON.stringify({ code, name }) })
    const [set = ""] = answer.headers.getSetCookie()
    return { status: answer.status, body: (await answer.json()) as Body, cookie: set.split(";")[0] ?? "", whole: set }
  }
  const me = async (cookie: string, on = host) => {
    const answer = await fetch(`${on.url}/v1/me`, { headers: { cookie } })
    return (await answer.json()) as { role?: string; user?: { email: string }; organization?: { id: string } }
  }
  const sessionOf = (user: string, on = host) =>
    on.get(UnitsOfWork).run((work) => {
      const input = { user, organization: null, method: "email_code", device: "", address: "" } as const
      return `mr_session=${on.get(UserSessions).open(work, input).text}`
    })

  it("asks a person with an account to sign in, and takes the session then", async () => {
    const { id } = await host.get(UnitsOfWork).run((work) => host.get(Users).add(work, { email: "ida@example.com", name: "Ida" }))
    const other = await host.get(UnitsOfWork).run((work) => host.get(Users).add(work, { email: "eve@example.com", name: "Eve" }))
    const code = await invite("ida@example.com")
    const refused = await join(code)
    expect([refused.status, refused.body.details?.reason, refused.cookie]).to.deep.equal([403, "sign_in_first", ""])
    const foreign = await join(code, { cookie: await sessionOf(other.id) })
    expect([foreign.status, foreign.body.details?.reason]).to.deep.equal([404, "invitation_for_another"])
    const evil = await join(code, { cookie: await sessionOf(id), origin: "https://evil.example" })
    expect([evil.status, evil.body.details?.reason]).to.deep.equal([403, "origin_not_allowed"])
    const cookie = await sessionOf(id)
    expect((await join(code, { cookie })).status).to.equal(200)
    expect((await me(cookie)).organization?.id).to.equal(host.organization.id)
    expect((await join(code, { cookie })).status).to.equal(404)
  })

  it("opens nothing by a link that the inviter saw, before a sign-in by mail", async () => {
    const outbox = await start({ capture: false })
    const code = await invite("lin@example.com", outbox)
    const refused = await join(code, {}, outbox)
    expect([refused.status, refused.body.details?.reason, refused.cookie]).to.deep.equal([403, "sign_in_first", ""])
    const user = await outbox.get(Users).byEmail("lin@example.com")
    expect(user?.organization_ids).to.deep.equal([])
    const cookie = await sessionOf(user?.id ?? "", outbox)
    expect((await join(code, { cookie }, outbox)).status).to.equal(200)
    expect(await me(cookie, outbox)).to.deep.include({ role: "member" })
  })

  it("makes one user, one member and one session of a hundred at once", async () => {
    const code = await invite("grace@example.com")
    const answers = await Promise.all(Array.from({ length: 100 }, () => join(code)))
    const joined = answers.filter(({ status }) => status === 200)
    expect(joined.length).to.equal(1)
    expect(answers.every(({ status }) => status < 500)).to.equal(true)
    const user = await host.get(Users).byEmail("grace@example.com")
    expect([user?.name, user?.organization_ids]).to.deep.equal(["Grace", [host.organization.id]])
    expect(
      await host
        .get(Store)
        .open(collectionNamed(host, "user_sessions"))
        .count({ user_id: user?.id ?? "" }),
    ).to.equal(1)
    expect(joined[0]?.whole)
      .to.match(/HttpOnly/)
      .and.to.match(/SameSite=Strict/)
    expect(await me(joined[0]?.cookie ?? "")).to.deep.include({ role: "member" })
    const { body } = await host.api<{ members: { email: string }[] }>("GET", "/v1/members")
    expect(body.members.filter(({ email }) => email === "grace@example.com")).to.have.length(1)
  })

  it("limits the wrong codes of a network", async () => {
    const reasons: (string | undefined)[] = []
    for (let n = 0; n < 12; n++) reasons.push((await join(`mr_join_${"A".repeat(74)}${n % 10}`)).body.details?.reason)
    expect(reasons.at(-1)).to.equal("rate_limited")
  })
})
