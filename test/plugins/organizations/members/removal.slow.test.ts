// A removal while the person's credentials are in use on two nodes: no call that starts after the answer is accepted.
import { expect } from "chai"
import { io, type Socket } from "socket.io-client"
import { UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { UserSessions } from "../../../../plugins/platform/identity/index.ts"
import { ApiKeys, Organizations, ViewerSessions } from "../../../../plugins/platform/organizations/index.ts"
import { lendDatabaseToFile, mongoAvailable } from "../../../mongodb-server.ts"
import { untilProcess as until } from "../../../waiting.ts"

const onMongo = mongoAvailable ? describe : describe.skip

onMongo("the removal of a member on two nodes (mongodb)", () => {
  const nodes: TestHost[] = []
  let count = 0
  before(async () => {
    const env = { MILLRACE_STORAGE_URL: await lendDatabaseToFile(), MILLRACE_RATE_LIMITS_KEY_PER_MINUTE: "100000" }
    const first = await testHost({ env, capture: false })
    nodes.push(first, await testHost({ env, capture: false, dataDir: first.dataDir }))
  })
  after(async () => {
    for (const node of nodes.reverse()) await node.stop()
  })

  const first = () => nodes[0] as TestHost
  const person = (role: "admin" | "owner") =>
    first()
      .get(UnitsOfWork)
      .run((work) => {
        const [organizations, { id: organization }] = [first().get(Organizations), first().organization]
        const { id } = organizations.addUser(work, { email: `p${++count}@example.com` })
        organizations.addMember(work, organization, id, role)
        const keyOptions = { name: "k", kind: "api_key", role, scopes: null, user: id } as const
        const input = { user: id, organization, method: "email_code", device: "", address: "" } as const
        const key = first().get(ApiKeys).mint(work, organization, keyOptions).text
        return { id, key, session: first().get(UserSessions).open(work, input).text }
      })
  const statusOf = async (node: TestHost, key: string) => (await node.api("GET", "/v1/datasets", undefined, { key })).status
  const mcpStatus = async (node: TestHost, key: string) => {
    const headers = {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    }
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" })
    return (await fetch(`${node.url}/mcp`, { method: "POST", headers, body })).status
  }
  const dial = async (node: TestHost, token: string): Promise<Socket> => {
    const socket = io(node.url, { path: "/live", auth: { token }, reconnection: false, forceNew: true, transports: ["websocket"] })
    await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("connect_error", reject))
    return socket
  }

  for (const [title, ends] of [
    ["by an owner", (id: string) => first().api("DELETE", `/v1/members/${id}`)],
    ["by leaving", (_: string, key: string) => (nodes[1] as TestHost).api("POST", "/v1/members-leave", {}, { key })],
  ] as const)
    it(`${title} ends keys, sessions, sockets, MCP, upload links and viewer tokens before the answer`, async () => {
      const bob = await person("admin")
      const token = await first().api<{ secret: string }>(
        "POST",
        "/v1/api-keys",
        { name: "t", kind: "token", scopes: ["mcp", "datasets:read", "live:subscribe"] },
        { key: bob.key },
      )
      const credentials = [bob.key, bob.session, token.body.secret]
      const { body: upload } = await first().api<{ upload_url: string }>("POST", "/v1/knowledge-uploads", {}, { key: bob.key })
      const { body: viewer } = await first().api<{ token: string }>("POST", "/v1/viewer-sessions", { ttl_s: 900 }, { key: bob.session })
      for (const node of nodes) {
        for (const key of credentials) expect([await statusOf(node, key), await mcpStatus(node, key)]).to.deep.equal([200, 200])
        expect(await node.get(ViewerSessions).verify(viewer.token)).to.include({ organization_id: node.organization.id })
      }
      const sockets = await Promise.all(nodes.flatMap((node) => credentials.map((key) => dial(node, key))))
      let isOver = false
      const late: number[] = []
      const workers = nodes.flatMap((node) =>
        credentials.map(async (key) => {
          for (;;) {
            const beganAfter = isOver
            const status = await statusOf(node, key)
            if (beganAfter) return void late.push(status)
          }
        }),
      )
      const ended = await ends(bob.id, bob.key)
      isOver = true
      expect(ended.status, JSON.stringify(ended.body)).to.equal(200)
      await Promise.all(workers)
      expect(new Set(late)).to.deep.equal(new Set([401]))
      for (const node of nodes) {
        for (const key of credentials) {
          expect(await mcpStatus(node, key)).to.equal(401)
          expect(await dial(node, key).catch((error: { data?: { code?: string } }) => error.data?.code)).to.equal("unauthenticated")
        }
        expect(await node.get(ViewerSessions).verify(viewer.token)).to.deep.equal({ error: "invalid" })
        const response = await fetch(upload.upload_url.replace(/^https?:\/\/[^/]+/, node.url), { method: "PUT", body: "text" })
        expect(response.status).to.equal(403)
      }
      await until("every socket being cut", () => sockets.every(({ connected }) => !connected))
    })

  it("leaves one owner of two who remove each other on different nodes", async () => {
    for (let round = 0; round < 5; round++) {
      const [ada, bob] = await first()
        .get(UnitsOfWork)
        .run((work) => {
          const { id } = first()
            .get(Organizations)
            .create(work, { name: "Duel", slug: `duel-${round}` })
          return [0, 1].map(() => {
            const user = first()
              .get(Organizations)
              .addUser(work, { email: `d${++count}@example.com` }).id
            first().get(Organizations).addMember(work, id, user, "owner")
            const keyOptions = { name: "k", kind: "api_key", role: "owner", scopes: null, user } as const
            return { user, key: first().get(ApiKeys).mint(work, id, keyOptions).text }
          })
        })
      if (!ada || !bob) throw new Error("no owners")
      const answers = await Promise.all([
        nodes[0]?.api("DELETE", `/v1/members/${bob.user}`, undefined, { key: ada.key }),
        nodes[1]?.api("DELETE", `/v1/members/${ada.user}`, undefined, { key: bob.key }),
      ])
      const won = answers.filter((answer) => answer?.status === 200).length
      expect(won, JSON.stringify(answers)).to.equal(1)
    }
  })
})
