// A service whose organizations register caller names with a loopback Trust Hub.
import { expect } from "chai"
import { UnitsOfWork } from "#core"
import { Metrics } from "#core/engine"
import type { TestHost, TestHostOptions } from "#core/testing"
import { ApiKeys, Organizations } from "../../../plugins/platform/organizations/index.ts"
import { patiently, until } from "../../waiting.ts"
import { pluginSettings } from "../buckets/stores.ts"
import { accountSid, authToken, ownNumber, type TrustHubServer } from "./trust-hub.ts"

export interface Refusal {
  readonly code: string
  readonly message: string
  readonly details: { reason?: string; fields?: { path: string; message: string }[] }
}
export interface Registration {
  readonly id: string
  readonly name: string
  readonly status: string
  readonly reasons: { code: string; message: string }[]
  readonly trust_product_sid: string
  readonly last_error: string
  readonly checked_at: string | null
}
export interface Filed extends Refusal {
  readonly action_display: string
  readonly approval_request_id: string
  readonly registration: Registration
  readonly status: string
}

const maxMoveMs = 600_000

export function voiceEnv(hub: TrustHubServer): NonNullable<TestHostOptions["env"]> {
  return {
    MILLRACE_OUTGOING_ALLOW_HOSTS: `127.0.0.1:${hub.port}`,
    MILLRACE_JOBS_POLL_MS: "50",
    MILLRACE_PUBLIC_URL: "https://calls.example.com",
    ...pluginSettings({ voice: { trust_hub_url: hub.origin, twilio_url: hub.origin } }),
  }
}

/** Returns another organization with a Twilio connection, and a Trust Hub with only its customer profile. */
export async function deskAfresh(host: TestHost, hub: TrustHubServer, count: number): Promise<Desk> {
  hub.complies = true
  hub.acted.length = 0
  for (const kind of ["TrustProducts", "EndUsers"] as const) hub.items[kind].length = 0
  hub.items.CustomerProfiles[0] = { ...hub.items.CustomerProfiles[0], sid: `BU${String(count).padStart(32, "c")}` }
  const desk = await Desk.open(host, `acme-${count}`)
  await desk.connect()
  return desk
}

/** The two admins of one organization: one requests, the other decides. */
export class Desk {
  readonly host: TestHost
  readonly key: string
  readonly second: string
  readonly organization: string

  constructor(host: TestHost, organization: string, key: string, second: string) {
    this.host = host
    this.organization = organization
    this.key = key
    this.second = second
  }

  static async open(host: TestHost, slug: string, name = "Acme Sales"): Promise<Desk> {
    const organization = await host.get(UnitsOfWork).run((work) => {
      const organizations = host.get(Organizations)
      const { id } = organizations.create(work, { name, slug })
      const key = (name: string) => {
        const { id: user } = organizations.addUser(work, { email: `${name}@${slug}.example` })
        organizations.addMember(work, id, user, "admin")
        return host.get(ApiKeys).mint(work, id, { name, kind: "api_key", role: "admin", scopes: null, user }).text
      }
      return { id, key: key("one"), second: key("two") }
    })
    return new Desk(host, organization.id, organization.key, organization.second)
  }

  api<T = Record<string, unknown>>(method: string, path: string, body?: unknown, key = this.key) {
    return patiently(() => this.host.api<T>(method, path, body, { key }))
  }

  async connect(): Promise<void> {
    const credentials = { username: accountSid, password: authToken }
    const { status } = await this.api("POST", "/v1/integrations-connect", { app: "twilio", credentials, share_with_org: true })
    if (status !== 200) throw new Error(`not connected: ${status}`)
  }

  set(change: object = {}) {
    const registrationInput = { phone_number: ownNumber, email: "ada@acme.example", ...change }
    return this.api<Refusal & { registration: Registration | null }>("PUT", "/v1/voice/caller-name", registrationInput)
  }

  file(key = this.key) {
    return this.api<Filed>("POST", "/v1/voice/caller-name", {}, key)
  }

  /** Sets a name and files it. */
  async filed(): Promise<Filed> {
    expect((await this.set()).status).to.equal(200)
    const { status, body } = await this.file()
    expect(status, JSON.stringify(body)).to.equal(200)
    return body
  }

  decide(id: string, decision: string, more: object = {}) {
    return this.api<Refusal & { state: string }>("POST", `/v1/approvals/${id}/decide`, { decision, ...more }, this.second)
  }

  async registration(): Promise<Registration> {
    const { body } = await this.api<{ registration: Registration | null }>("GET", "/v1/voice/caller-name")
    if (!body.registration) throw new Error("nothing was filed")
    return body.registration
  }

  async #jobsRunning(): Promise<number> {
    const gauge = this.host.runtime.container.get(Metrics).getSingleMetric("millrace_node_jobs")
    const { values = [] } = (await gauge?.get()) ?? {}
    return values.find(({ labels }) => labels["state"] === "running")?.value ?? 1
  }

  /**
   * Waits until the registration matches. If it stays unchanged for some polls, moves the clock to its next try, farther each
   * time. A move would time out a running job.
   */
  async when(what: string, holds: (registration: Registration) => boolean): Promise<Registration> {
    let [seen, still, movedMs] = ["", 0, 10_000]
    return until(what, async () => {
      const registration = await this.registration()
      if (holds(registration)) return registration
      const now = JSON.stringify(registration)
      still = now === seen ? still + 1 : 0
      seen = now
      if (still > 0 && still % 3 === 0 && (await this.#jobsRunning()) === 0) {
        movedMs = Math.min(2 * movedMs, maxMoveMs)
        this.host.clock.move(movedMs)
      }
      return undefined
    })
  }
}
