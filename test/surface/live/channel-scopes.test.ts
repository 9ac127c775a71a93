// Channels of the service require the scope of their corresponding reads.
import { expect } from "chai"
import { io, type Socket } from "socket.io-client"
import { Declarations } from "#core/engine"
import { type TestHost, testHost } from "#core/testing"
import { type Channel, Channels } from "../../../core/contract/channel.ts"
import { Operations } from "../../../core/contract/operation.ts"

interface Acknowledgement {
  readonly ok?: boolean
  readonly code?: string
  readonly details?: { readonly reason?: string; readonly needed_scope?: string }
}

describe("the scope of a live channel", () => {
  let host: TestHost
  let channels: readonly Channel[]
  const sockets: Socket[] = []
  before(async () => {
    host = await testHost()
    channels = host.get(Declarations).items(Channels)
  })
  after(async () => {
    for (const socket of sockets) socket.close()
    await host.stop()
  })

  const subscriber = async (scopes: readonly string[]) => {
    const keyOptions = { name: "live", kind: "token", role: "member", scopes: ["live:subscribe", ...scopes] }
    const { secret } = (await host.api<{ secret: string }>("POST", "/v1/api-keys", keyOptions)).body
    const socket = io(host.url, { path: "/live", auth: { token: secret }, reconnection: false, forceNew: true, transports: ["websocket"] })
    sockets.push(socket)
    await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("connect_error", reject))
    return (channel: string): Promise<Acknowledgement> => socket.emitWithAck("subscribe", { channel })
  }
  const placeOf = ({ name }: Channel) => name.replace("*", "any")

  it("is a scope that reads of the service need", () => {
    const scopes = new Set(
      host
        .get(Declarations)
        .items(Operations)
        .map(({ access }) => access.scope),
    )
    expect(channels.length).to.be.greaterThan(10)
    expect(channels.filter(({ scope }) => !scopes.has(scope)).map(({ name }) => name)).to.deep.equal([])
  })

  it("is missing from a token for live updates alone, which joins channels of pipelines only", async () => {
    const subscribe = await subscriber([])
    for (const channel of channels) {
      const { code, details } = await subscribe(placeOf(channel))
      expect([code, details?.reason, details?.needed_scope], channel.name).to.deep.equal([
        "permission_denied",
        "missing_scope",
        channel.scope,
      ])
    }
    expect(await subscribe("leads")).to.deep.equal({ ok: true })
  })

  it("opens its channels and no others", async () => {
    const subscribe = await subscriber(["datasets:read", "event_pipelines:read"])
    for (const channel of channels) {
      const joined = (await subscribe(placeOf(channel))).ok === true
      expect(joined, channel.name).to.equal(["datasets:read", "event_pipelines:read"].includes(channel.scope))
    }
  })

  it("is part of an API key, which has every scope of its role", async () => {
    const auth = { token: host.adminKey }
    const socket = io(host.url, { path: "/live", auth, reconnection: false, forceNew: true, transports: ["websocket"] })
    sockets.push(socket)
    for (const channel of channels)
      expect(await socket.emitWithAck("subscribe", { channel: placeOf(channel) }), channel.name).to.deep.equal({ ok: true })
  })
})
