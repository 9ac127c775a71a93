// Invitations of members: from the mail to the membership, and every kind of misuse.
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { expect } from "chai"
import { Store, UnitsOfWork } from "#core"
import type { Role } from "#core/engine"
import type { TestHost } from "#core/testing"
import { UserSessions, Users } from "../../../../plugins/platform/identity/index.ts"
import { ApiKeys, Organizations } from "../../../../plugins/platform/organizations/index.ts"
import { onStoresInTurn } from "../../../pipeline/stores.ts"
import { patiently, until } from "../../../waiting.ts"
import { pluginSettings } from "../../buckets/stores.ts"
import { collectionNamed } from "../../collection-named.ts"

interface Answer {
  readonly id: string
  readonly link: string | null
  readonly code: string
  readonly details: { readonly reason?: string }
  readonly role: string
}
interface Person {
  readonly id: string
  readonly email: string
  readonly key: string
}

const base = "https://millrace.example"
const env = {
  MILLRACE_SERVER_PUBLIC_URL: base,
  MILLRACE_RATE_LIMITS_KEY_PER_MINUTE: "100000",
  MILLRACE_RATE_LIMITS_ORGANIZATION_PER_MINUTE: "100000",
}

onStoresInTurn("invitations of members", ({ start }) => {
  let host: TestHost
  let count = 0
  before(async () => {
    host = await start({ env, capture: true })
  })

  const person = (organization: string, role: Role, on = host): Promise<Person> =>
    on.get(UnitsOfWork).run((work) => {
      const email = `p${++count}@example.com`
      const { id } = on.get(Organizations).addUser(work, { email, name: `P${count}` })
      on.get(Organizations).addMember(work, organization, id, role)
      const keyOptions = { name: "k", kind: "api_key", role, scopes: null, user: id } as const
      return { id, email, key: on.get(ApiKeys).mint(work, organization, keyOptions).text }
    })
  const organization = async (slug: string, on = host) => {
    const { id } = await on.get(UnitsOfWork).run((work) => on.get(Organizations).create(work, { name: slug, slug }))
    return { id, owner: await person(id, "owner", on) }
  }
  /** Opens a session of the person by mailed code and returns its text. */
  const session = (user: string, on = host) =>
    on.get(UnitsOfWork).run((work) => {
      const input = { user, organization: null, method: "email_code", device: "", address: "" } as const
      return on.get(UserSessions).open(work, input).text
    })
  const invite = (by: Person, email: string, role = "member", on = host) =>
    on.api<Answer>("POST", "/v1/member-invitations", { email, role }, { key: by.key })
  const accept = (key: string, code: string, on = host) => on.api<Answer>("POST", "/v1/member-invitations-accept", { code }, { key })
  const mailedCodes = (to: string) =>
    host.mails.filter((mail) => mail.to.includes(to)).map(({ text }) => /#code=(mr_join_[\w-]+)/.exec(text)?.[1] ?? "")
  const codeFor = async (to: string, number = 1) =>
    await until(`mail ${number} to ${to}`, () => mailedCodes(to).length >= number && mailedCodes(to).at(-1))
  const roleOf = async (organization: string, user: string) => (await host.get(Organizations).membership(organization, user))?.role
  const reasonOf = ({ status, body }: { status: number; body: Answer }) => [status, body.details?.reason]
  /** Creates an invited person of another organization. */
  const invited = async (by: Person, role = "member") => {
    const guest = await person((await organization(`home-${count}`)).id, "owner")
    const { status, body } = await invite(by, guest.email, role)
    expect(status, JSON.stringify(body)).to.equal(200)
    return { ...guest, invitation: body.id, code: await codeFor(guest.email) }
  }

  it("arrive as a link on the public address, and make a member with an audit record", async () => {
    const { id, owner } = await organization("shop")
    const grace = await person((await organization("grace-home")).id, "owner")
    const headers = { host: "evil.example", "x-forwarded-host": "evil.example" }
    const answer = await host.api<Answer>(
      "POST",
      "/v1/member-invitations",
      { email: ` ${grace.email.toUpperCase()} `, role: "admin" },
      { key: owner.key, headers },
    )
    expect([answer.status, answer.body.link], JSON.stringify(answer.body)).to.deep.equal([200, null])
    const code = await codeFor(grace.email)
    const [mail] = host.mails.filter(({ to }) => to.includes(grace.email))
    expect(mail?.text).to.include(`${base}/console/join#code=${code}`)
    expect(mail?.text + (mail?.html ?? "")).to.not.include("evil")
    const list = async () =>
      (await host.api<{ invitations: { id: string; email: string }[] }>("GET", "/v1/member-invitations", undefined, { key: owner.key }))
        .body.invitations
    expect((await list()).map(({ email }) => email)).to.deep.equal([grace.email])
    expect(JSON.stringify(await list())).to.not.include(code)
    const joined = await accept(await session(grace.id), code)
    expect(joined.body).to.deep.equal({ organization: { id, slug: "shop", name: "shop" }, role: "admin" })
    expect(await roleOf(id, grace.id)).to.equal("admin")
    expect(await list()).to.deep.equal([])
    const log = await host.api<{ audit_log: { operation: string; actor: { user_id: string } }[] }>("GET", "/v1/audit-log", undefined, {
      key: owner.key,
    })
    const [record] = log.body.audit_log
    expect([record?.operation, record?.actor.user_id]).to.deep.equal(["member_invitations.accept", grace.id])
    expect(host.logged.some((line) => line.includes(code))).to.equal(false)
    expect(reasonOf(await accept(await session(grace.id), code))).to.deep.equal([404, "member_invitation_not_found"])
  })

  it("are refused to every other person, without the address", async () => {
    const { owner } = await organization("strangers")
    const grace = await invited(owner)
    const other = await person((await organization("strangers-home")).id, "owner")
    for (const key of [other.key, await session(other.id)]) {
      const refused = await accept(key, grace.code)
      expect(reasonOf(refused)).to.deep.equal([404, "invitation_for_another"])
      expect(JSON.stringify(refused.body)).to.not.include(grace.email)
    }
    const token = { name: "t", kind: "token", scopes: ["members:write"], role: "member" }
    const response = await host.api<{ secret: string }>("POST", "/v1/api-keys", token, { key: grace.key })
    expect(reasonOf(await accept(response.body.secret, grace.code))).to.deep.equal([403, "sign_in_first"])
    expect((await accept(grace.key, grace.code)).status).to.equal(200)
  })

  it("end when they are sent again, replaced, revoked, or expire", async () => {
    const { owner } = await organization("ends")
    const [resent, replaced, revoked, expired] = [await invited(owner), await invited(owner), await invited(owner), await invited(owner)]
    const again = await host.api<Answer>("POST", `/v1/member-invitations/${resent.invitation}/resend`, {}, { key: owner.key })
    expect([again.status, again.body.id]).to.deep.equal([200, resent.invitation])
    expect((await invite(owner, replaced.email, "guest")).body).to.include({ id: replaced.invitation, role: "guest" })
    expect((await host.api("DELETE", `/v1/member-invitations/${revoked.invitation}`, undefined, { key: owner.key })).status).to.equal(200)
    for (const invitation of [resent, replaced, revoked])
      expect(reasonOf(await accept(invitation.key, invitation.code))).to.deep.equal([404, "member_invitation_not_found"])
    expect((await accept(resent.key, await codeFor(resent.email, 2))).status).to.equal(200)
    expect((await accept(replaced.key, await codeFor(replaced.email, 2))).body.role).to.equal("guest")
    const foreign = await organization("ends-foreign")
    for (const [method, path] of [
      ["DELETE", `/v1/member-invitations/${expired.invitation}`],
      ["POST", `/v1/member-invitations/${expired.invitation}/resend`],
    ] as const) {
      const refused = await host.api<Answer>(method, path, method === "POST" ? {} : undefined, { key: foreign.owner.key })
      expect(reasonOf(refused)).to.deep.equal([404, "member_invitation_not_found"])
    }
    const week = 7 * 86_400_000
    host.clock.move(week)
    expect(reasonOf(await patiently(() => accept(expired.key, expired.code)))).to.deep.equal([404, "member_invitation_not_found"])
  })

  it("reach no role above the inviter's, and no member", async () => {
    const { id, owner } = await organization("ranks")
    const [admin, member] = [await person(id, "admin"), await person(id, "member")]
    expect(reasonOf(await invite(admin, "x@example.com", "owner"))).to.deep.equal([403, "role_too_low"])
    expect(reasonOf(await invite(member, "x@example.com", "guest"))).to.deep.equal([403, "role_too_low"])
    expect((await invite(owner, "x@example.com", "owner")).status).to.equal(200)
    expect(reasonOf(await invite(admin, "X@example.com", "guest"))).to.deep.equal([403, "role_too_low"])
    expect(reasonOf(await invite(owner, member.email, "owner"))).to.deep.equal([400, "already_member"])
    const stale = host.get(UserSessions)
    const old = await host.get(UnitsOfWork).run((work) => {
      const input = { user: owner.id, organization: id, method: "email_code", device: "", address: "" } as const
      return stale.open(work, input).text
    })
    host.clock.move(301_000)
    expect(reasonOf(await patiently(() => invite({ ...owner, key: old }, "y@example.com", "owner")))).to.deep.equal([403, "sign_in_again"])
    expect((await invite({ ...owner, key: old }, "y@example.com", "admin")).status).to.equal(200)
  })

  it("resist guesses of the code", async () => {
    const { owner } = await organization("guesses")
    const grace = await invited(owner)
    const guesser = await person((await organization("guesses-home")).id, "owner")
    const wrong = ["", "mr_join_", "x", `${grace.code.slice(0, -1)}${grace.code.endsWith("A") ? "B" : "A"}`, grace.code.slice(0, -4)]
    const answers: unknown[] = []
    for (let n = 0; n < 14; n++)
      answers.push(reasonOf(await accept(guesser.key, wrong[n % wrong.length] || `mr_join_${"A".repeat(75)}`))[1])
    expect(answers.slice(0, 10)).to.deep.equal(Array(10).fill("member_invitation_not_found"))
    expect(answers.slice(-2)).to.deep.equal(["rate_limited", "rate_limited"])
    expect((await accept(grace.key, grace.code)).status).to.equal(200)
  })

  it("make one member of a hundred who use one link at once", async () => {
    const { id, owner } = await organization("crowd")
    const grace = await invited(owner)
    const keys = [await session(grace.id), await session(grace.id), grace.key]
    const answers = await Promise.all(Array.from({ length: 100 }, (_, n) => accept(keys[n % keys.length] ?? "", grace.code)))
    const counts = Object.groupBy(answers, ({ status }) => status)
    expect(counts[200]?.length, JSON.stringify(Object.keys(counts))).to.equal(1)
    expect(answers.every(({ status }) => status < 500)).to.equal(true)
    const members = await host.api<{ members: { user_id: string }[] }>("GET", "/v1/members", undefined, { key: owner.key })
    expect(members.body.members.filter(({ user_id }) => user_id === grace.id)).to.have.length(1)
    const path = "/v1/audit-log?operation=member_invitations.accept"
    const log = await host.api<{ audit_log: unknown[] }>("GET", path, undefined, { key: owner.key })
    expect(log.body.audit_log).to.have.length(1)
    expect((await host.get(Users).get(grace.id))?.organization_ids).to.include(id)
  })

  it("of a person who leaves are revoked", async () => {
    const { id, owner } = await organization("inviter")
    const admin = await person(id, "admin")
    const [theirs, ours] = [await invited(admin, "admin"), await invited(owner)]
    expect((await host.api("DELETE", `/v1/members/${admin.id}`, undefined, { key: owner.key })).status).to.equal(200)
    expect(reasonOf(await accept(theirs.key, theirs.code))).to.deep.equal([404, "member_invitation_not_found"])
    expect((await accept(ours.key, ours.code)).status).to.equal(200)
  })

  it("are limited in a day, exactly", async () => {
    const limited = await start({ env: { ...env, ...pluginSettings({ organizations: { max_invitations_per_day: 4 } }) }, capture: true })
    const { id, owner } = await organization("limited", limited)
    const send = (n: number) => patiently(() => invite(owner, `l${n}@example.com`, "guest", limited))
    const first = await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map(send))
    // A call that conflicts twice must be repeated.
    for (const [n, { status }] of first.entries()) if (status === 409) first.push(await send(n))
    const granted = first.filter(({ status }) => status === 200)
    expect(granted.length, JSON.stringify(first.map(reasonOf))).to.equal(4)
    expect(await limited.get(Store).open(collectionNamed(limited, "member_invitations"), id).count({})).to.equal(4)
    expect(reasonOf(await invite(owner, "l9@example.com", "guest", limited))).to.deep.equal([429, "too_many_invitations"])
    limited.clock.move(86_400_000)
    expect((await patiently(() => invite(owner, "l9@example.com", "guest", limited))).status).to.equal(200)
  })

  it("show the link to the inviter if mail becomes files, and then need a sign-in by mail", async () => {
    const outbox = await start({ env, capture: false })
    const { owner } = await organization("outbox", outbox)
    const grace = await person((await organization("outbox-home", outbox)).id, "owner", outbox)
    const { body } = await invite(owner, grace.email, "member", outbox)
    expect(body.link).to.match(/^https:\/\/millrace\.example\/console\/join#code=mr_join_[\w-]{75}$/)
    const code = body.link?.split("=").at(-1) ?? ""
    const folder = join(outbox.dataDir, "outbox")
    const mail = await until("the mail in the outbox", async () => {
      const [file] = await readdir(folder).catch(() => [])
      return file?.endsWith(".eml") && (await readFile(join(folder, file), "utf8"))
    })
    expect(mail.replaceAll(/=\r\n/g, "")).to.include(code)
    expect(reasonOf(await accept(grace.key, code, outbox))).to.deep.equal([403, "sign_in_first"])
    const headers = { "idempotency-key": "once" }
    const options = { key: owner.key, headers }
    const first = await outbox.api<Answer>("POST", "/v1/member-invitations", { email: "z@example.com" }, options)
    const repeated = await outbox.api<Answer>("POST", "/v1/member-invitations", { email: "z@example.com" }, options)
    expect([typeof first.body.link, repeated.body.link]).to.deep.equal(["string", undefined])
    expect((await accept(await session(grace.id, outbox), code, outbox)).status).to.equal(200)
  })
})
