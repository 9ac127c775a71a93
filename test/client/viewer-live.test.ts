// Live updates of page viewers. A viewer's token opens only public channels of its own organization's endpoints.
import { expect } from "chai"
import { UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { ClientError, connectLive, type LiveOptions } from "../../client/live.ts"
import { ApiKeys, Organizations } from "../../plugins/platform/organizations/index.ts"

describe("a viewer's token", () => {
  let host: TestHost
  let endpointId: string
  let inbound: string
  let token: string
  before(async () => {
    host = await testHost()
    const response = await host.api<{ endpoint_id: string; inbound_url: string }>("POST", "/v1/event-pipelines", {
      name: "Public news",
      state: "active",
      auth_mode: "authenticated_viewer",
      auth_config: { audience: "public_and_viewers" },
      pipeline: [
        { type: "live.broadcast", channel: "news", public: true, data: { said: "{{ event.says }}" } },
        { type: "live.broadcast", channel: "inside", data: { said: "{{ event.says }}" } },
      ],
    })
    endpointId = response.body.endpoint_id
    inbound = response.body.inbound_url
    token = (await host.api<{ token: string }>("POST", "/v1/viewer-sessions", {})).body.token
  })
  after(() => host.stop())

  const listen = (options: Partial<LiveOptions>) => {
    const messages: unknown[] = []
    const completion = Promise.withResolvers<void>()
    const live = connectLive<{ news: { said: string } }>({ url: host.url, ...options })
    const subscription = live.subscribe("news", ({ data }) => completion.resolve(void messages.push(data)), { onError: () => {} })
    return { live, heard: messages, ready: subscription.ready, told: completion.promise }
  }
  const refusal = async (options: Partial<LiveOptions>): Promise<ClientError> => {
    const { live, ready } = listen(options)
    try {
      await ready
    } catch (error) {
      if (error instanceof ClientError) return error
      throw error
    } finally {
      live.close()
    }
    throw new Error("it was let in")
  }

  it("hears the public channels of an endpoint, as a stranger does", async () => {
    const viewer = listen({ token, endpointId })
    const stranger = listen({ endpointId })
    await Promise.all([viewer.ready, stranger.ready])
    await fetch(inbound, { method: "POST", headers: { "content-type": "application/json" }, body: '{"says":"hello"}' })
    await Promise.all([viewer.told, stranger.told])
    expect([viewer.heard, stranger.heard]).to.deep.equal([[{ said: "hello" }], [{ said: "hello" }]])
    viewer.live.close()
    stranger.live.close()
  })

  it("needs the endpoint, is refused when it was changed, and opens nothing of another organization", async () => {
    const alone = await refusal({ token })
    expect([alone.code, alone.message.includes("endpointId")]).to.deep.equal(["unauthenticated", true])
    const broken = await refusal({ token: `${token.slice(0, -4)}AAAA`, endpointId })
    expect([broken.code, broken.details["reason"]]).to.deep.equal(["unauthenticated", "invalid_token"])
    const key = await refusal({ token: host.adminKey, endpointId })
    expect(key.details["reason"]).to.equal("invalid_token")
    const elsewhere = await host.get(UnitsOfWork).run((work) => {
      const { id } = host.get(Organizations).create(work, { name: "Elsewhere", slug: "elsewhere" })
      return host.get(ApiKeys).mint(work, id, { name: "k", kind: "api_key", role: "owner", scopes: null, user: null }).text
    })
    const theirs = await host.api<{ token: string }>("POST", "/v1/viewer-sessions", {}, { key: elsewhere })
    expect((await refusal({ token: theirs.body.token, endpointId })).details["reason"]).to.equal("invalid_token")
  })
})
