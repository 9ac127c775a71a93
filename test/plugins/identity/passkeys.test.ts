// Passkeys over HTTP, with an authenticator in software: registration, sign-in, step-up, and answers of hostile pages and
// devices.
import { randomUUID } from "node:crypto"
import { expect } from "chai"
import { Store, UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { onBothStores } from "../../pipeline/stores.ts"
import { until } from "../../waiting.ts"
import { collectionNamed } from "../collection-named.ts"
import { Authenticator, type Credential, type Forgery } from "./authenticator.ts"
import { addUser, Browser, moveClock, signedIn } from "./people.ts"

const url = "https://millrace.example.com"
const device = new Authenticator(url)
const minute = 60_000

type CreationOptions = Parameters<Authenticator["create"]>[0]
interface Listed {
  readonly passkeys: readonly { readonly id: string; readonly name: string; readonly last_used_at: string | null }[]
}

async function optionsFor(browser: Browser): Promise<CreationOptions> {
  const { status, body } = await browser.call<{ options: CreationOptions }>("POST", "/v1/me/passkeys-options", {})
  expect(status, JSON.stringify(body)).to.equal(200)
  return body.options
}

const reasonOf = ({ status, body }: { status: number; body: { details?: { reason: string } } }) => [status, body.details?.reason]

async function addPasskey(browser: Browser, name = "Laptop"): Promise<{ credential: Credential; id: string }> {
  const { credential, answer } = device.create(await optionsFor(browser))
  const { status, body } = await browser.call<{ id: string }>("POST", "/v1/me/passkeys", { name, answer })
  expect(status, JSON.stringify(body)).to.equal(200)
  return { credential, id: body.id }
}

async function challengeFor(browser: Browser): Promise<{ challenge: string; rpId?: string }> {
  const { status, body } = await browser.call<{ options: { challenge: string; rpId: string } }>("POST", "/console-session/passkey/options")
  expect(status, JSON.stringify(body)).to.equal(200)
  return body.options
}

/** Returns "in", or status and reason of the refusal. */
async function enter(browser: Browser, answer: object): Promise<unknown> {
  const response = await browser.call("POST", "/console-session/passkey", { answer })
  return response.status === 204 ? "in" : reasonOf(response)
}

async function signInWith(browser: Browser, credential: Credential, forged?: Forgery): Promise<unknown> {
  return await enter(browser, device.get(await challengeFor(browser), credential, forged))
}

onBothStores("passkeys", ({ start }) => {
  let host: TestHost
  let count = 0
  before(async () => {
    host = await start({ env: { MILLRACE_PUBLIC_URL: url }, capture: true })
  })

  const person = async () => {
    const email = `person-${++count}@example.com`
    const user = await addUser(host, email)
    return { email, user, browser: await signedIn(host, user) }
  }
  const withPasskey = async () => {
    const member = await person()
    return { ...member, ...(await addPasskey(member.browser)) }
  }
  const list = async (browser: Browser) => (await browser.call<Listed>("GET", "/v1/me/passkeys")).body.passkeys
  const refusals = async (browser: Browser, credential: Credential, forgeries: readonly Forgery[]) => {
    for (const forged of forgeries) {
      expect(await signInWith(browser, credential, forged), JSON.stringify(forged)).to.deep.equal([401, "passkey_refused"])
    }
  }

  it("open a session in another browser, which names no address", async () => {
    const { email, credential, browser: first } = await withPasskey()
    const browser = new Browser(host.url)
    expect(await signInWith(browser, credential)).to.equal("in")
    expect(await browser.me()).to.equal(email)
    expect([...browser.cookies.keys()]).to.deep.equal(["__Host-mr_session"])
    const [{ name, last_used_at } = { name: "", last_used_at: null }] = await list(first)
    expect(name).to.equal("Laptop")
    expect(last_used_at).to.be.a("string")
  })

  it("make the session of their person fresh", async () => {
    const { browser, credential, id } = await withPasskey()
    await moveClock(host, 6 * minute)
    const remove = () => browser.call("DELETE", `/v1/me/passkeys/${id}`)
    expect(reasonOf(await remove())).to.deep.equal([403, "sign_in_again"])
    expect(reasonOf(await browser.call("POST", "/v1/me/passkeys-options", {}))).to.deep.equal([403, "sign_in_again"])
    expect(await signInWith(browser, credential)).to.equal("in")
    expect((await remove()).status).to.equal(200)
    expect(await signInWith(new Browser(host.url), credential)).to.deep.equal([401, "passkey_refused"])
  })

  it("are added with the challenge of their session, once, within five minutes", async () => {
    const [ada, eve] = [await person(), await person()]
    const options = await optionsFor(ada.browser)
    const { answer } = device.create(options)
    const add = (browser: Browser) => browser.call("POST", "/v1/me/passkeys", { name: "Key", answer })
    await optionsFor(eve.browser)
    expect(reasonOf(await add(eve.browser))).to.deep.equal([400, "passkey_answer_invalid"])
    const answers = await Promise.all(Array.from({ length: 5 }, () => add(ada.browser)))
    expect(answers.filter(({ status }) => status === 200)).to.have.length(1)
    expect(await list(ada.browser)).to.have.length(1)
    expect(reasonOf(await add(ada.browser))).to.deep.equal([400, "passkey_answer_invalid"])
  })

  it("are refused five minutes after their options, also in a fresh session", async () => {
    const { browser, credential } = await withPasskey()
    const { answer } = device.create(await optionsFor(browser))
    await moveClock(host, 4 * minute)
    expect(await signInWith(browser, credential)).to.equal("in")
    await moveClock(host, minute)
    const refused = await browser.call("POST", "/v1/me/passkeys", { name: "Late", answer })
    expect(reasonOf(refused)).to.deep.equal([400, "passkey_answer_invalid"])
  })

  it("are refused from other origins and sites, without verification, and of other types", async () => {
    const { browser } = await person()
    const forgeries: Forgery[] = [
      { origin: "https://evil.example.com" },
      { origin: "http://millrace.example.com" },
      { rpId: "example.com" },
      { flags: 0x01 },
      { flags: 0x04 },
      { type: "webauthn.get" },
      { attestationObject: Buffer.alloc(3_000, 0x81).toString("base64url") },
      { attestationObject: Buffer.from("9bffffffffffff0000", "hex").toString("base64url") },
    ]
    for (const forged of forgeries) {
      const { answer } = device.create(await optionsFor(browser), forged)
      const refused = await browser.call("POST", "/v1/me/passkeys", { name: "Key", answer })
      expect(reasonOf(refused), JSON.stringify(forged)).to.deep.equal([400, "passkey_answer_invalid"])
    }
    expect(await list(browser)).to.deep.equal([])
  })

  it("open no session for other origins and sites, without verification, and for other types", async () => {
    const { credential } = await withPasskey()
    await refusals(new Browser(host.url), credential, [
      { origin: "https://evil.example.com" },
      { origin: host.url },
      { rpId: "evil.example.com" },
      { flags: 0x01 },
      { flags: 0x04 },
      { type: "webauthn.create" },
    ])
  })

  it("open no session for another person's credential or handle", async () => {
    const [ada, eve] = [await withPasskey(), await withPasskey()]
    await refusals(new Browser(host.url), eve.credential, [
      { id: ada.credential.id },
      { userHandle: ada.credential.userHandle },
      { id: ada.credential.id, userHandle: ada.credential.userHandle },
      { id: Buffer.from("unknown").toString("base64url") },
    ])
    for (const [method, body] of [["PATCH", { name: "Mine" }], ["DELETE"]] as const) {
      const refused = await eve.browser.call(method, `/v1/me/passkeys/${ada.id}`, body)
      expect(reasonOf(refused)).to.deep.equal([404, "passkey_not_found"])
    }
    expect((await list(ada.browser)).map(({ name }) => name)).to.deep.equal(["Laptop"])
  })

  it("open one session for a challenge, in the browser that got the challenge", async () => {
    const { credential } = await withPasskey()
    const browser = new Browser(host.url)
    const options = await challengeFor(browser)
    const answer = device.get(options, credential)
    const nonce = browser.cookies.get("__Host-mr_passkey") ?? ""
    const copies = Array.from({ length: 5 }, () => {
      const copy = new Browser(host.url)
      copy.cookies.set("__Host-mr_passkey", nonce)
      return copy
    })
    expect(await enter(new Browser(host.url), answer)).to.deep.equal([401, "passkey_refused"])
    const other = new Browser(host.url)
    await challengeFor(other)
    expect(await enter(other, answer)).to.deep.equal([401, "passkey_refused"])
    const outcomes = await Promise.all(copies.map((copy) => enter(copy, answer)))
    expect(outcomes.filter((outcome) => outcome === "in")).to.have.length(1)
    const late = device.get(await challengeFor(browser), credential)
    await moveClock(host, 5 * minute)
    expect(await enter(browser, late)).to.deep.equal([401, "passkey_refused"])
  })

  it("open no session for a lower counter", async () => {
    const { credential } = await withPasskey()
    const browser = () => new Browser(host.url)
    expect(await signInWith(browser(), credential, { counter: 7 })).to.equal("in")
    await refusals(browser(), credential, [{ counter: 7 }, { counter: 3 }, { counter: 0 }])
    expect(host.logged.join("\n")).to.include("a sign-in with a passkey was refused")
    expect(await signInWith(browser(), credential, { counter: 8 })).to.equal("in")
  })

  it("are at most twenty for a person", async () => {
    const { user, browser } = await withPasskey()
    const stored = await host
      .get(Store)
      .open(collectionNamed<{ credential_id: string; public_key: string }>(host, "passkeys"))
      .first({ user_id: user.id })
    await host.get(UnitsOfWork).run((work) => {
      for (let n = 0; stored && n < 19; n++)
        work
          .in(collectionNamed<{ credential_id: string; public_key: string }>(host, "passkeys"))
          .insert({ ...stored, id: randomUUID(), credential_id: `${user.id} ${n}` })
    })
    expect(await list(browser)).to.have.length(20)
    expect(reasonOf(await browser.call("POST", "/v1/me/passkeys-options", {}))).to.deep.equal([429, "too_many_passkeys"])
  })

  it("are reported by mail when they are added and removed", async () => {
    const { email, browser, id } = await withPasskey()
    expect((await browser.call("PATCH", `/v1/me/passkeys/${id}`, { name: "Phone" })).status).to.equal(200)
    expect((await browser.call("DELETE", `/v1/me/passkeys/${id}`)).status).to.equal(200)
    const own = await until("two mails", () => {
      const mails = host.mails.filter(({ to }) => to.includes(email))
      return mails.length === 2 && mails
    })
    expect(own.map(({ subject }) => subject)).to.deep.equal(["A passkey was added", "A passkey was removed"])
    expect(own[1]?.text).to.include("Phone")
    expect(own[1]?.text).to.include(`${url}/console`)
  })

  it("belong to people alone: a key of the person adds and lists none", async () => {
    for (const [method, path, body] of [
      ["GET", "/v1/me/passkeys", undefined],
      ["POST", "/v1/me/passkeys-options", {}],
    ] as const) {
      const refused = await host.api<{ details: { reason: string } }>(method, path, body, { key: host.adminKey })
      expect(reasonOf(refused)).to.deep.equal([403, "not_a_person"])
    }
  })

  it("use the public URL in place of the Host header, and answer to pages of the service alone", async () => {
    const browser = new Browser(host.url, { "x-forwarded-host": "evil.example.com" })
    expect((await challengeFor(browser)).rpId).to.equal("millrace.example.com")
    const refused = await browser.call("POST", "/console-session/passkey/options", undefined, { origin: "https://evil.example.com" })
    expect(reasonOf(refused)).to.deep.equal([403, "origin_not_allowed"])
    const large = await browser.call("POST", "/console-session/passkey", { answer: { id: "A".repeat(17_000) } })
    expect(large.status).to.equal(413)
  })

  it("keep no private key, and the public key out of the audit log", async () => {
    const { user, browser, credential } = await withPasskey()
    const stored = await host
      .get(Store)
      .open(collectionNamed<{ credential_id: string; public_key: string }>(host, "passkeys"))
      .first({ user_id: user.id })
    expect(stored).to.include({ credential_id: credential.id, device_type: "single_device", backed_up: false })
    const audit = await host.api("GET", "/v1/audit-log?limit=5", undefined, { key: host.adminKey })
    expect(JSON.stringify(audit.body)).to.not.include(stored?.public_key ?? "-")
    expect(JSON.stringify((await browser.call("GET", "/v1/me/passkeys")).body)).to.not.include(stored?.public_key ?? "-")
  })
})

describe("passkeys of a service without a host name", () => {
  let host: TestHost
  before(async () => {
    host = await testHost()
  })
  after(() => host.stop())

  it("are refused with the setting to change", async () => {
    const { status, body } = await new Browser(host.url).call("POST", "/console-session/passkey/options")
    expect([status, body.details.reason]).to.deep.equal([400, "passkeys_unavailable"])
    expect(body.message).to.include("server.public_url").and.include("http://localhost")
  })
})
