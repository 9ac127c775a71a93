// People who sign in over HTTP: a browser with cookies, a mailbox behind a loopback SMTP server, and users.
import { UnitsOfWork } from "#core"
import type { TestHost } from "#core/testing"
import { type User, UserSessions, Users } from "../../../plugins/platform/identity/index.ts"
import { Organizations } from "../../../plugins/platform/organizations/index.ts"
import { patiently, until } from "../../waiting.ts"
import type { ReceivedMail } from "../email/mail-server.ts"

export interface Answer<T = Record<string, unknown>> {
  readonly status: number
  readonly body: T
  readonly headers: Headers
}

export interface Refusal {
  readonly code: string
  readonly message: string
  readonly details: { readonly reason: string; readonly tries_left?: number; readonly retry_after_s?: number }
}

export class Browser {
  readonly cookies = new Map<string, string>()
  readonly #url: string
  readonly #headers: Record<string, string>

  constructor(url: string, headers: Record<string, string> = {}) {
    this.#url = url
    this.#headers = { origin: url, "user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", ...headers }
  }

  async call<T = Record<string, unknown>>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer<T & Refusal>> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ")
    // After a long move of its clock, a node waits for the store.
    const response = await patiently(() =>
      fetch(this.#url + path, {
        method,
        headers: {
          ...this.#headers,
          ...(cookie && { cookie }),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    )
    for (const set of response.headers.getSetCookie()) {
      const [name = "", value = ""] = (set.split(";")[0] ?? "").split("=")
      if (value === "") this.cookies.delete(name)
      else this.cookies.set(name, value)
    }
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: (text === "" ? {} : JSON.parse(text)) as T & Refusal }
  }

  requestCode(email: string, more: object = {}, headers: Record<string, string> = {}) {
    return this.call("POST", "/console-session/code", { email, ...more }, headers)
  }

  /** Returns "in", or status and reason of the refusal. */
  async enter(input: object, headers: Record<string, string> = {}) {
    const { status, body } = await this.call("POST", "/console-session", input, headers)
    return status === 204 ? "in" : [status, body.details.reason]
  }

  async me() {
    const { status, body } = await this.call<{ user: { email: string } }>("GET", "/v1/me")
    return status === 200 ? body.user.email : [status, body.details.reason]
  }
}

/** Creates a user with a membership in the first organization. */
export async function addUser(host: TestHost, email: string, role: "guest" | "member" | "admin" | "owner" = "member"): Promise<User> {
  const organizations = host.get(Organizations)
  const first = await organizations.first()
  return await host.get(UnitsOfWork).run((work) => {
    const user = host.get(Users).add(work, { email, name: email })
    organizations.addMember(work, first.id, user.id, role)
    return user
  })
}

/** Returns the latest code and link mailed to an address, once it has `count` mails. */
export async function mailedTo(host: TestHost, received: readonly ReceivedMail[], email: string, count = 1) {
  host.clock.move(1_000)
  const mail = await until(`${count} mails to ${email}`, () => {
    const own = received.filter(({ recipients }) => recipients.includes(email))
    return own.length >= count && own.at(-1)?.mail
  })
  const code = /^(\d{6}) is your/.exec(mail.subject ?? "")?.[1] ?? ""
  const url = new URL(/https?:\S+#link=\S+/.exec(mail.text ?? "")?.[0] ?? "")
  return { code, url, link: url.hash.slice("#link=".length), text: mail.text ?? "" }
}

/** Returns a browser of a user who has just signed in. */
export async function signedIn(host: TestHost, user: User): Promise<Browser> {
  const browser = new Browser(host.url)
  const input = { user: user.id, organization: null, method: "email_code", device: "firefox, desktop", address: "" } as const
  const { text } = await host.get(UnitsOfWork).run((work) => host.get(UserSessions).open(work, input))
  browser.cookies.set("__Host-mr_session", text)
  return browser
}

/** Moves the clock, and waits until a MongoDB node has its lease again. */
export async function moveClock(host: TestHost, ms: number): Promise<void> {
  host.clock.move(ms)
  await until("the lease", async () => (await host.api("GET", "/v1/me")).status === 200)
}
