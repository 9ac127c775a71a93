// Load by autocannon from this process: requests prepared before the clock starts, each sent once, no pipelining.
import { createHmac } from "node:crypto"
import autocannon from "autocannon"

export interface Load {
  /** Answers of status 2xx a second. */
  readonly perSecond: number
  readonly ok: number
  readonly other: number
  /** Milliseconds. */
  readonly p99: number
}

export interface PreparedRequest {
  readonly method: "POST"
  readonly headers: Record<string, string>
  readonly body: string
}

/** 300-byte leads with an email of their own each; signed where there is a secret. */
export function prepareLeads(count: number, prefix: string, secret: string | undefined): PreparedRequest[] {
  return Array.from({ length: count }, (_, index) => {
    const body = leadBody(`${prefix}-${index}@example.com`)
    const headers: Record<string, string> = { "content-type": "application/json" }
    if (secret !== undefined) headers["x-signature-256"] = `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`
    return { method: "POST", headers, body }
  })
}

function leadBody(email: string): string {
  const lead = {
    email,
    name: "Ada Lovelace",
    company: "Analytical Engines Ltd",
    budget: 12500,
    message: "",
    tags: ["demo", "pricing"],
    consent: true,
  }
  lead.message = "x".repeat(Math.max(0, 300 - JSON.stringify(lead).length))
  return JSON.stringify(lead)
}

/** Runs until the time is over; stops early when a connection has sent all that was prepared for it. */
export async function load(url: string, connections: number, seconds: number, requests: readonly PreparedRequest[]): Promise<Load> {
  const share = Math.floor(requests.length / connections)
  let next = 0
  const started = performance.now()
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    pipelining: 1,
    setupClient(client) {
      const own = requests.slice(next * share, (next + 1) * share)
      next++
      client.setRequests(own.map((request) => ({ ...request })))
    },
  })
  const elapsed = (performance.now() - started) / 1_000
  const ok = result["2xx"]
  return {
    perSecond: ok / Math.min(elapsed, result.duration || elapsed),
    ok,
    other: result.non2xx + result.errors + result.timeouts,
    p99: result.latency.p99,
  }
}
