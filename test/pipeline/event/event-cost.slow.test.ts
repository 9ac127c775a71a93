// Limits on the work of an event of the full path: writes, promises, messages to threads and to the sandbox, and grouping with
// other events.
// Counted instead of timed, so an added cost is visible on any machine.
import { createHook } from "node:async_hooks"
import { createHmac } from "node:crypto"
import { connect } from "node:net"
import { Worker } from "node:worker_threads"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { ChildLink } from "../../../core/pipeline/sandbox/child-link.ts"
import { GroupCommit } from "../../../core/storage/commit.ts"

/** Node exports only a function that creates them. */
const Hmac = createHmac("sha256", "key").constructor as unknown as { prototype: { digest(...inputs: unknown[]): unknown } }

const connections = 64
const events = 1_280
/** For an event outside of isolates; most belong to its commit. */
const maxPromises = 9
/** For its call to the sandbox. */
const maxMorePromises = 6

interface Counts {
  promises: number
  messages: number
  frames: number
  /** Writes per commit, of events only. */
  readonly writes: number[]
  /** `v` for each computed signature, `c` for each commit of an event, in order. */
  stages: string
}

describe("an event of the full path", () => {
  let host: TestHost
  before(async () => {
    host = await testHost({ ownSandbox: true })
  })
  after(() => host.stop())

  async function pipeline(name: string, transform_js: string, dedupe?: object) {
    const { body } = await host.api<{ inbound_url: string; secret: string }>("POST", "/v1/event-pipelines", {
      name,
      state: "active",
      auth_mode: "hmac_sha256",
      request_schema: { type: "object", required: ["mark"], properties: { mark: { type: "string" }, budget: { type: "number" } } },
      transform_js,
      ...(dedupe && { dedupe }),
      pipeline: [{ id: "save", type: "dataset.write", dataset_slug: "marks", key: "mark" }],
    })
    return body
  }

  it("makes two writes, few promises and messages, and calls no sandbox where it only rearranges fields", async () => {
    const createdPipeline = await pipeline(
      "Plain",
      "function transform(event) { return { mark: event.mark.trim(), budget: Number(event.budget) || 0 } }",
    )
    await flood(createdPipeline, "warm")
    const counts = await counted(() => flood(createdPipeline, "plain"))
    expect(new Set(counts.writes)).to.deep.equal(new Set([2]))
    expect(counts.writes).to.have.length(events)
    expect(counts.frames).to.equal(0)
    expect(counts.promises / events, "promises an event").to.be.at.most(maxPromises)
    expect(counts.messages / events, "messages to threads an event").to.be.at.most(0.5)
  })

  it("takes a stage with the others of its turn, before the next stage of any", async () => {
    const createdPipeline = await pipeline("Beside", "function transform(event) { return { mark: event.mark, budget: event.budget } }")
    await flood(createdPipeline, "warm")
    const { stages } = await counted(() => flood(createdPipeline, "beside"))
    // Verified and then committed in groups: each change between the two starts another group.
    const groups = stages.replaceAll(/v+/g, "v").replaceAll(/c+/g, "c").length / 2
    expect(stages.replaceAll("v", "")).to.have.length(events)
    expect(groups / events, "groups an event").to.be.at.most(0.25)
  })

  it("goes to the sandbox in groups where its transform does more", async () => {
    const createdPipeline = await pipeline(
      "More",
      "function transform(event) { const mark = event.mark; return { mark, budget: event.budget } }",
    )
    await flood(createdPipeline, "warm")
    const counts = await counted(() => flood(createdPipeline, "more"))
    expect(counts.frames).to.be.greaterThan(0)
    expect(counts.frames / events, "calls of the sandbox an event").to.be.at.most(0.5)
    expect(counts.promises / events, "promises an event").to.be.at.most(maxPromises + maxMorePromises)
  })

  it("looks deduplication keys up in groups", async () => {
    const createdPipeline = await pipeline("Once", "function transform(event) { return { mark: event.mark } }", {
      key: "{{ payload.mark }}",
    })
    await flood(createdPipeline, "warm")
    const counts = await counted(() => flood(createdPipeline, "once"))
    expect(new Set(counts.writes)).to.deep.equal(new Set([3]))
    expect(counts.messages / events, "messages to threads an event").to.be.at.most(0.5)
  })
})

/** Sends all events over kept connections, one at a time on each. The sender creates no promises. */
function flood({ inbound_url, secret }: { inbound_url: string; secret: string }, prefix: string): Promise<void> {
  const { hostname, port, pathname } = new URL(inbound_url)
  const requests = Array.from({ length: events }, (_, n) => {
    const body = JSON.stringify({ mark: `${prefix}-${n}`, budget: n, note: "x".repeat(200) })
    const signature = createHmac("sha256", secret).update(body).digest("hex")
    return `POST ${pathname} HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nx-signature-256: sha256=${signature}\r\n\r\n${body}`
  })
  return new Promise((resolve, reject) => {
    let answered = 0
    for (let index = 0; index < connections; index++) {
      const socket = connect(Number(port), hostname)
      const next = () => {
        const request = requests.pop()
        if (request === undefined) socket.end()
        else socket.write(request)
      }
      socket.on("connect", next)
      socket.on("error", reject)
      socket.on("data", (chunk) => {
        if (!chunk.toString("latin1").startsWith("HTTP/1.1 200 ")) reject(new Error(`Answered ${chunk.toString("latin1")}`))
        if (++answered === events) resolve()
        next()
      })
    }
  })
}

async function counted(run: () => Promise<void>): Promise<Counts> {
  const counts: Counts = { promises: 0, messages: 0, frames: 0, writes: [], stages: "" }
  const hook = createHook({
    init(_id, type) {
      if (type === "PROMISE") counts.promises++
    },
  })
  const { postMessage } = Worker.prototype
  const { send } = ChildLink.prototype
  const { commit } = GroupCommit.prototype
  const { digest } = Hmac.prototype
  Worker.prototype.postMessage = function (this: Worker, ...inputs: Parameters<typeof postMessage>) {
    counts.messages++
    return postMessage.apply(this, inputs)
  }
  ChildLink.prototype.send = function (this: ChildLink, parts) {
    counts.frames++
    return send.call(this, parts)
  }
  Hmac.prototype.digest = function (this: object, ...inputs: unknown[]) {
    counts.stages += "v"
    return digest.apply(this, inputs)
  }
  GroupCommit.prototype.commit = function (this: GroupCommit, input) {
    if (input.writes.some(({ collection }) => collection.name === "executions")) {
      counts.writes.push(input.writes.length)
      counts.stages += "c"
    }
    return commit.call(this, input)
  }
  hook.enable()
  try {
    await run()
    return counts
  } finally {
    hook.disable()
    Object.assign(Worker.prototype, { postMessage })
    Object.assign(ChildLink.prototype, { send })
    Object.assign(GroupCommit.prototype, { commit })
    Object.assign(Hmac.prototype, { digest })
  }
}
