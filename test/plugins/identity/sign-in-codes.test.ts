// Sign-in by mail, over HTTP and SMTP: codes and links work once, for ten minutes, in the requesting browser.
import { request } from "node:http"
import { expect } from "chai"
import { UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { onBothStores } from "../../pipeline/stores.ts"
import { collectionNamed } from "../collection-named.ts"
import { listenForMail, type MailServer } from "../email/mail-server.ts"
import { addUser, Browser, mailedTo } from "./people.ts"

const url = "https://millrace.example.com"
const session = "__Host-mr_session"

onBothStores("sign-in codes", ({ start }) => {
  let host: TestHost
  let mailbox: MailServer
  let count = 0
  before(async () => {
    mailbox = await listenForMail()
    const settings = {
      email: { transport: "smtp", url: mailbox.url, from: "no-reply@service.test" },
      identity: { codes_per_address_hour: 1_000 },
    }
    host = await start({ env: { MILLRACE_PLUGINS_SETTINGS: JSON.stringify(settings), MILLRACE_PUBLIC_URL: url } })
  })
  after(() => mailbox.close())

  const browser = () => new Browser(host.url)
  const person = async () => {
    const email = `person-${++count}@example.com`
    return { email, user: await addUser(host, email), own: browser() }
  }
  const requestCode = async (mails = 1) => {
    const member = await person()
    expect((await member.own.requestCode(member.email)).status).to.equal(202)
    return { ...member, ...(await mailedTo(host, mailbox.received, member.email, mails)) }
  }
  const wrongOf = (code: string) => String((Number(code) + 1) % 1_000_000).padStart(6, "0")

  it("open a session with the code, in a cookie of this host alone", async () => {
    const { email, own, code } = await requestCode()
    const answer = await own.call("POST", "/console-session", { email_code: ` ${code.slice(0, 3)} ${code.slice(3)} ` })
    expect(answer.status).to.equal(204)
    expect(answer.headers.getSetCookie().find((text) => text.startsWith(session)))
      .to.include("; Path=/;")
      .and.include("HttpOnly; Secure; SameSite=Strict")
      .and.not.include("Domain")
    expect(await own.me()).to.equal(email)
    expect([...own.cookies.keys()]).to.deep.equal([session])
    const { body } = await own.call<{ credential: { kind: string } }>("GET", "/v1/me")
    expect(body.credential.kind).to.equal("session")
    expect(host.logged.join("\n")).to.not.include(code)
  })

  it("open a session with the link, by a POST alone, at a path of the console", async () => {
    const member = await person()
    await member.own.requestCode(member.email, { next: "/console/datasets" })
    const { url: link, link: token } = await mailedTo(host, mailbox.received, member.email)
    expect(link.origin + link.pathname).to.equal(`${url}/console/datasets`)
    for (let n = 0; n < 3; n++) expect((await fetch(host.url + link.pathname)).status).to.equal(200)
    expect(await member.own.enter({ link: token })).to.equal("in")
    expect(await member.own.me()).to.equal(member.email)
  })

  it("answer the same for an unknown address, which gets no mail", async () => {
    const before = mailbox.received.length
    const [member, unknown] = [await person(), browser()]
    const answers = [await member.own.requestCode(member.email), await unknown.requestCode("nobody@example.com")]
    expect(new Set(answers.map(({ status, body }) => JSON.stringify([status, Object.keys(body)]))).size).to.equal(1)
    expect([...unknown.cookies.keys()]).to.deep.equal([...member.own.cookies.keys()])
    await mailedTo(host, mailbox.received, member.email)
    host.clock.move(5_000)
    expect(mailbox.received.slice(before).flatMap(({ recipients }) => recipients)).to.deep.equal([member.email])
  })

  it("refuse the code and the link in another browser, and the code of another address", async () => {
    const [ada, eve] = [await requestCode(), await requestCode()]
    expect(await browser().enter({ email_code: ada.code })).to.deep.equal([401, "sign_in_code_ended"])
    expect(await browser().enter({ link: ada.link })).to.deep.equal([401, "sign_in_code_ended"])
    expect(await eve.own.enter({ link: ada.link })).to.deep.equal([401, "sign_in_code_ended"])
    if (ada.code !== eve.code) expect(await eve.own.enter({ email_code: ada.code })).to.deep.equal([401, "sign_in_code_wrong"])
    expect(await ada.own.enter({ email_code: ada.code })).to.equal("in")
  })

  it("work once, code and link together", async () => {
    const { own, code, link } = await requestCode()
    const nonce = own.cookies.get("__Host-mr_sign_in") ?? ""
    expect(await own.enter({ email_code: code })).to.equal("in")
    for (const input of [{ email_code: code }, { link }]) {
      own.cookies.set("__Host-mr_sign_in", nonce)
      expect(await own.enter(input)).to.deep.equal([401, "sign_in_code_ended"])
    }
  })

  it("open one session for two concurrent uses", async () => {
    const { own, code, link } = await requestCode()
    const uses = [{ email_code: code }, { link }, { email_code: code }].map((input) => {
      const copy = browser()
      for (const [name, value] of own.cookies) copy.cookies.set(name, value)
      return copy.enter(input)
    })
    const answers = await Promise.all(uses)
    expect(answers.filter((answer) => answer === "in")).to.have.length(1)
    expect(answers.filter((answer) => answer !== "in")).to.deep.equal(Array(2).fill([401, "sign_in_code_ended"]))
  })

  it("end with the fifth wrong try, also if the tries are concurrent", async () => {
    const { own, code } = await requestCode()
    const wrong = { email_code: wrongOf(code) }
    const remaining: unknown[] = []
    for (let n = 0; n < 4; n++) remaining.push((await own.call("POST", "/console-session", wrong)).body.details.tries_left)
    expect(remaining).to.deep.equal([4, 3, 2, 1])
    expect(await own.enter(wrong)).to.deep.equal([401, "sign_in_code_ended"])
    expect(await own.enter({ email_code: code })).to.deep.equal([401, "sign_in_code_ended"])

    const other = await requestCode()
    const tries = await Promise.all(Array.from({ length: 12 }, () => other.own.enter({ email_code: wrongOf(other.code) })))
    expect(tries.filter((answer) => answer[1] === "sign_in_code_wrong")).to.have.length(4)
    expect(await other.own.enter({ email_code: other.code })).to.deep.equal([401, "sign_in_code_ended"])
  })

  it("end after ten minutes", async () => {
    const [code, link] = [await requestCode(), await requestCode()]
    host.clock.move(600_000)
    expect(await code.own.enter({ email_code: code.code })).to.deep.equal([401, "sign_in_code_ended"])
    expect(await link.own.enter({ link: link.link })).to.deep.equal([401, "sign_in_code_ended"])
  })

  it("name the public URL, regardless of the Host header", async () => {
    const member = await person()
    const evil = { host: "evil.test", origin: "https://evil.test", "x-forwarded-host": "evil.test", forwarded: "host=evil.test" }
    expect(await statusOf(host.url, evil, member.email)).to.equal(202)
    const { text } = await mailedTo(host, mailbox.received, member.email)
    expect(text).to.include(`${url}/console#link=`).and.not.include("evil.test")
  })

  it("refuse a place outside of the console", async () => {
    const { email, own } = await person()
    for (const next of [
      "https://evil.test",
      "//evil.test",
      "/console//evil.test",
      "/console/../x?",
      "/consoles",
      "/console\\evil",
      "javascript:alert(1)",
      "/console/a#b",
      "",
    ])
      expect((await own.requestCode(email, { next })).body.details?.reason, next).to.equal("sign_in_malformed")
  })

  it("take five requests an hour for an address, exactly, and tell when the next is due", async () => {
    const { email } = await person()
    const answers = await Promise.all(Array.from({ length: 9 }, () => browser().requestCode(email.toUpperCase())))
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([...Array(5).fill(202), ...Array(4).fill(429)])
    const refused = answers.find(({ status }) => status === 429)
    expect(refused?.body.details.reason).to.equal("too_many_sign_in_codes")
    expect(Number(refused?.headers.get("retry-after"))).to.be.within(1, 3_600)
    host.clock.move(3_600_000)
    expect((await browser().requestCode(email)).status).to.equal(202)
  })

  it("are requested and used by the service's own pages alone", async () => {
    const { email, own, code } = await requestCode()
    for (const headers of [{ origin: "https://evil.test" }, { "sec-fetch-site": "cross-site" }]) {
      expect((await own.requestCode(email, {}, headers)).body.details.reason).to.equal("origin_not_allowed")
      expect(await own.enter({ email_code: code }, headers)).to.deep.equal([403, "origin_not_allowed"])
    }
    expect(await own.enter({ email_code: code }, { "content-type": "text/plain" })).to.deep.equal([400, "sign_in_malformed"])
    expect(await own.enter({ email_code: code })).to.equal("in")
  })

  it("give a browser a new session, and end the one that it had", async () => {
    const [ada, eve] = [await requestCode(), await requestCode()]
    expect(await ada.own.enter({ email_code: ada.code })).to.equal("in")
    const planted = ada.own.cookies.get(session) ?? ""
    eve.own.cookies.set(session, planted)
    expect(await eve.own.enter({ email_code: eve.code })).to.equal("in")
    expect(eve.own.cookies.get(session)).to.not.equal(planted)
    expect([await eve.own.me(), await ada.own.me()]).to.deep.equal([eve.email, [401, "session_ended"]])
    // A session opened with a key, and a session of the same person.
    const key = browser()
    expect(await key.enter({ key: host.adminKey })).to.equal("in")
    const old = browser()
    old.cookies.set(session, key.cookies.get(session) ?? "")
    expect((await key.requestCode(eve.email)).status).to.equal(202)
    const { code } = await mailedTo(host, mailbox.received, eve.email, 2)
    expect(await key.enter({ email_code: code })).to.equal("in")
    expect([await key.me(), await old.me()]).to.deep.equal([eve.email, [401, "credential_revoked"]])
  })

  it("refresh the session of a person who signs in again: same session, new text, a fresh sign-in", async () => {
    const { email, own, code } = await requestCode()
    await own.enter({ email_code: code })
    const text = own.cookies.get(session) ?? ""
    const idOf = async () => (await own.call<{ credential: { id: string } }>("GET", "/v1/me")).body.credential.id
    const id = await idOf()
    await own.requestCode(email)
    expect(await own.enter({ email_code: (await mailedTo(host, mailbox.received, email, 2)).code })).to.equal("in")
    expect(await idOf()).to.equal(id)
    const before = browser()
    before.cookies.set(session, text)
    expect((await before.me())[0]).to.equal(401)
  })

  it("keep no code, link or nonce in the store", async () => {
    const { own, code, link } = await requestCode()
    const { Store } = await import("#core")
    const stored = JSON.stringify(await host.get(Store).open(collectionNamed(host, "sign_in_codes")).find({}))
    for (const secret of [link, own.cookies.get("__Host-mr_sign_in") ?? ""]) expect(stored).to.not.include(secret)
    expect(stored).to.not.include(`"${code}"`)
    expect(host.get(UnitsOfWork).inProgress).to.equal(0)
  })
})

/** Sends a custom Host header. Browsers and `fetch` cannot. */
function statusOf(url: string, headers: Record<string, string>, email: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const outgoing = request(`${url}/console-session/code`, { method: "POST", headers: { ...headers, "content-type": "application/json" } })
    outgoing.once("response", (response) => resolve(response.resume().statusCode)).once("error", reject)
    outgoing.end(JSON.stringify({ email }))
  })
}

describe("sign-in codes for one network", () => {
  it("are twenty an hour for any addresses", async () => {
    const host = await testHost()
    try {
      const requests = Array.from({ length: 24 }, (_, n) => new Browser(host.url).requestCode(`person-${n}@example.com`))
      const statuses = (await Promise.all(requests)).map(({ status }) => status)
      expect(statuses.filter((status) => status === 202)).to.have.length(20)
      expect(statuses.filter((status) => status === 429)).to.have.length(4)
    } finally {
      await host.stop()
    }
  })
})
