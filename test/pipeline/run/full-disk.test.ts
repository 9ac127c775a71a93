// A disk that fills up during calls and mails. Their outcomes wait for room, and no call or mail repeats.
import { expect } from "chai"
import { AppError, Store } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { listen, type Peer } from "../../plugins/outgoing-http/loopback-peer.ts"
import { until } from "../../waiting.ts"

describe("outcomes of deferred steps on a full disk", () => {
  let host: TestHost
  let peer: Peer
  const requests: { key: string; answer: () => void }[] = []
  let isFull = false
  let refused = 0
  before(async () => {
    peer = await listen((request, response) => {
      requests.push({ key: String(request.headers["idempotency-key"]), answer: () => response.end("{}") })
    })
    host = await testHost({
      capture: false,
      env: {
        MILLRACE_OUTGOING_ALLOW_HOSTS: `127.0.0.1:${peer.port}`,
        MILLRACE_JOBS_CONCURRENCY: "1",
        MILLRACE_JOBS_POLL_MS: "50",
      },
    })
    const store = host.get(Store)
    const { commit, ready } = { commit: store.commit.bind(store), ready: store.ready.bind(store) }
    const full = () => {
      refused++
      return Promise.reject(new AppError("unavailable", "The disk is full.", { reason: "storage_full" }))
    }
    Object.assign(store, {
      commit: (input: Parameters<Store["commit"]>[0]) => (isFull ? full() : commit(input)),
      ready: () => (isFull ? full() : ready()),
    })
  })
  after(async () => {
    isFull = false
    await host.stop()
    await peer.close()
  })

  const call = { id: "call", type: "http.request", url: "", method: "POST", retry: { max_attempts: 5, initial_delay_ms: 10 } }
  const make = (name: string, pipeline: object[]) =>
    host.invoke("event_pipelines.create", { name, state: "active", source_kind: "internal", pipeline })
  const send = async (slug: string) =>
    (await host.invoke<{ execution_id: string }>("event_pipelines.send_event", { slug, payload: { n: 1 } })).execution_id
  const stateOf = async (slug: string, id: string) =>
    (await host.invoke<{ steps: Record<string, { state: string; attempts: number }> }>("event_pipelines.get_execution", { slug, id })).steps
  const fill = async () => {
    isFull = true
    refused = 0
  }
  const waitForRefusals = (count: number) => until("commits being refused", () => refused >= count)

  it("are kept once there is room, without another call", async () => {
    await make("Single", [{ ...call, url: `${peer.origin}/single` }])
    const ids = [await send("single"), await send("single"), await send("single")]
    await until("the first call", () => requests.length === 1)
    await fill()
    requests[0]?.answer()
    await waitForRefusals(3)
    // One call may start before the first refusal. No further call starts.
    expect(requests.length).to.be.at.most(2)
    const whileFull = requests.length
    requests[1]?.answer()
    await waitForRefusals(refused + 4)
    expect(requests.length).to.equal(whileFull)
    isFull = false
    let answered = whileFull
    for (const id of ids)
      await until("the step being done", async () => {
        for (; answered < requests.length; answered++) requests[answered]?.answer()
        return (await stateOf("single", id))["call"]?.state === "done"
      })
    expect(requests).to.have.length(3)
    expect(new Set(requests.map(({ key }) => key)).size).to.equal(3)
  })

  it("are kept in an execution of several steps, which goes on after that", async () => {
    requests.splice(0)
    const second = { ...call, id: "second", url: `${peer.origin}/second`, needs: ["call"] }
    await make("Several", [{ ...call, url: `${peer.origin}/first` }, second])
    const id = await send("several")
    await until("the first call", () => requests.length === 1)
    await fill()
    requests[0]?.answer()
    await waitForRefusals(4)
    expect(requests).to.have.length(1)
    isFull = false
    await until("the second call", () => requests.length === 2)
    requests[1]?.answer()
    const steps = await until("both steps being done", async () => {
      const match = await stateOf("several", id)
      return match["second"]?.state === "done" && match
    })
    expect([steps["call"]?.attempts, steps["second"]?.attempts, requests.length]).to.deep.equal([1, 1, 2])
  })
})
