// Twilio's Trust Hub on loopback, as far as caller name registration needs it: form-encoded calls, SIDs, paged lists and refusal
// rules.
// A test can lose answers, break calls and decide like Twilio's reviewers.
import { createHash } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

export const accountSid = `AC${"a".repeat(32)}`
export const authToken = "SECRET-auth-token"
export const ownNumber = "+14155552671"

type Item = Record<string, unknown> & { sid: string }

/** Faulty answer of one call, with or without its effect. */
export type Fault = "lost_after" | "held_after" | "lost_before" | "error" | "malformed" | "unauthorized" | "refused"

export interface TrustHubServer {
  readonly origin: string
  readonly port: number
  /** Calls with an effect, as `POST TrustProducts`, in order of their effects. */
  readonly acted: string[]
  /** Method and path of all calls. */
  readonly asked: string[]
  readonly items: Record<"TrustProducts" | "EndUsers" | "CustomerProfiles", Item[]>
  /** Items assigned to a collection's item. */
  assigned(of: string): Item[]
  /** Sets a fault for the next `times` matching calls. `call`: method and last word of the path. */
  fault(call: string, fault: Fault, times?: number): void
  /** Sets a reviewer's decision on the single trust product. */
  decide(status: string, errors?: unknown[]): void
  complies: boolean
  close(): Promise<void>
}

const profile = (n: string, status = "twilio-approved"): Item => ({
  sid: `BU${n.repeat(32)}`,
  account_sid: accountSid,
  friendly_name: `Profile ${n}`,
  status,
  date_created: "2026-01-01T00:00:00Z",
})

export async function startTrustHub(): Promise<TrustHubServer> {
  const items: TrustHubServer["items"] = { TrustProducts: [], EndUsers: [], CustomerProfiles: [profile("c"), profile("d", "draft")] }
  const assignments = new Map<string, Item[]>()
  const acted: string[] = []
  const urls: string[] = []
  const faults: { call: string; fault: Fault; times: number }[] = []
  let count = 0
  const sid = (prefix: string) => prefix + createHash("md5").update(String(++count)).digest("hex")
  const hub = { complies: true }

  const server = createServer((request, response) => {
    let body = ""
    request.on("data", (chunk: Buffer) => {
      body += chunk.toString()
    })
    request.on("end", () => answer(request, body, response))
  })

  function answer(request: IncomingMessage, body: string, response: ServerResponse): void {
    const url = new URL(request.url ?? "", origin)
    const path = url.pathname.split("/").slice(2)
    const name = `${request.method} ${path.at(-1)?.startsWith("BU") ? path.at(-2)?.slice(0, -1) : path.at(-1)}`
    urls.push(`${request.method} ${url.pathname}`)
    const fault = faults.find(({ call, times }) => call === name && times > 0)
    if (fault) fault.times--
    const send = (status: number, value: unknown) =>
      response.writeHead(status, { "content-type": "application/json" }).end(typeof value === "string" ? value : JSON.stringify(value))
    const expected = `Basic ${Buffer.from(`${accountSid}:${authToken}`).toString("base64")}`
    switch (fault?.fault) {
      case "lost_before":
        return void response.destroy()
      case "error":
        return void send(503, { code: 20500, message: "Internal server error", status: 503 })
      case "malformed":
        return void send(200, '{"sid": "BU')
      case "refused":
        return void send(400, { code: 22215, message: "The number is in another trust product", status: 400 })
    }
    if (request.headers.authorization !== expected || fault?.fault === "unauthorized")
      return void send(401, { code: 20003, message: "Authenticate", status: 401 })
    const result = route(request.method ?? "", url, path, new URLSearchParams(body))
    if (fault?.fault === "lost_after") return void response.destroy()
    if (fault?.fault === "held_after") return
    send(result.status, result.body)
  }

  function route(method: string, url: URL, path: string[], form: URLSearchParams): { status: number; body: unknown } {
    if (path[0] === "Accounts") return numbers(url)
    const [kind = "", of, within] = path
    const list = items[kind as keyof typeof items]
    if (!list) return missing(url)
    if (of === undefined) return method === "GET" ? listOf(url, list) : { status: 201, body: create(kind, list, form) }
    const item = list.find((entry) => entry.sid === of)
    if (!item) return missing(url)
    if (within === undefined) {
      if (method === "POST") {
        acted.push(`POST ${kind.slice(0, -1)}`)
        item["status"] = form.get("Status")
      }
      return { status: 200, body: item }
    }
    const own = assignments.get(`${of} ${within}`) ?? []
    assignments.set(`${of} ${within}`, own)
    if (method === "GET") return listOf(url, own)
    acted.push(`POST ${kind.slice(0, -1)} ${within}`)
    return { status: 201, body: assign(within, own, form) }
  }

  function numbers(url: URL): { status: number; body: unknown } {
    const held = url.searchParams.get("PhoneNumber") === ownNumber ? [{ sid: `PN${"1".repeat(32)}`, phone_number: ownNumber }] : []
    return { status: 200, body: { incoming_phone_numbers: held, page: 0 } }
  }

  function create(kind: string, list: Item[], form: URLSearchParams): Item {
    acted.push(`POST ${kind}`)
    const item: Item = {
      sid: sid(kind === "EndUsers" ? "IT" : "BU"),
      account_sid: accountSid,
      friendly_name: form.get("FriendlyName"),
      status: "draft",
      errors: [],
      form: Object.fromEntries(form),
      date_created: new Date(1_700_000_000_000 + count * 1_000).toISOString(),
    }
    list.push(item)
    return item
  }

  function assign(within: string, own: Item[], form: URLSearchParams): Item {
    if (within === "Evaluations") {
      const invalid = [
        { friendly_name: "Name", failure_reason: "The name is not that of the business", error_code: 18601 },
        { friendly_name: "Number", failure_reason: "The number is not in the profile", error_code: 18602 },
      ]
      const results = hub.complies ? [] : [{ friendly_name: "CNAM", passed: false, invalid }]
      const evaluation = { sid: sid("EL"), status: hub.complies ? "compliant" : "noncompliant", results }
      own.push(evaluation)
      return evaluation
    }
    const target = form.get("ObjectSid") ?? form.get("ChannelEndpointSid")
    const item = { sid: sid(within === "EntityAssignments" ? "BV" : "RA"), object_sid: target, channel_endpoint_sid: target }
    own.push(item)
    return item
  }

  function listOf(url: URL, all: Item[]): { status: number; body: unknown } {
    const friendly = url.searchParams.get("FriendlyName")
    const status = url.searchParams.get("Status")
    const fit = all.filter((item) => (!friendly || item["friendly_name"] === friendly) && (!status || item["status"] === status))
    // Pages of two, regardless of the requested size.
    const page = Number(url.searchParams.get("Page") ?? 0)
    const results = fit.slice(page * 2, page * 2 + 2)
    const next = new URL(url)
    next.searchParams.set("Page", String(page + 1))
    return { status: 200, body: { results, meta: { page, next_page_url: fit.length > page * 2 + 2 ? next.href : null, key: "results" } } }
  }

  function missing(url: URL): { status: number; body: unknown } {
    return { status: 404, body: { code: 20404, message: `The requested resource ${url.pathname} was not found`, status: 404 } }
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  const origin = `http://127.0.0.1:${port}`
  return Object.assign(hub, {
    origin,
    port,
    acted,
    asked: urls,
    items,
    assigned: (of: string) => [...assignments].filter(([key]) => key.startsWith(`${of} `)).flatMap(([, own]) => own),
    fault: (call: string, fault: Fault, times = 1) => void faults.push({ call, fault, times }),
    decide(status: string, errors: unknown[] = []) {
      const product = items.TrustProducts.at(-1)
      if (!product) throw new Error("nothing was registered")
      Object.assign(product, { status, errors })
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  })
}

/** The calls of one registration, in Trust Hub's order. */
export const eightCalls = [
  "POST CustomerProfile ChannelEndpointAssignments",
  "POST TrustProducts",
  "POST EndUsers",
  "POST TrustProduct EntityAssignments",
  "POST TrustProduct EntityAssignments",
  "POST TrustProduct ChannelEndpointAssignments",
  "POST TrustProduct Evaluations",
  "POST TrustProduct",
]
