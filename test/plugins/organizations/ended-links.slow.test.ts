// A link that ends while the manager's keys are in use on two nodes: by REST, by MCP and over open sockets. A call started after
// the end has no effect on either node, and only calls with a success answer have written.
import { expect } from "chai"
import { io, type Socket } from "socket.io-client"
import { UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { ApiKeys, Organizations } from "../../../plugins/platform/organizations/index.ts"
import { lendDatabaseToFile, mongoAvailable } from "../../mongodb-server.ts"
import { untilProcess as until } from "../../waiting.ts"

const onMongo = mongoAvailable ? describe : describe.skip
const rounds = 4

onMongo("links that end while keys are at work (mongodb)", () => {
  const nodes: TestHost[] = []
  let shop: { id: string; key: string }
  let manager: string
  before(async () => {
    const limits = { MILLRACE_RATE_LIMITS_KEY_PER_MINUTE: "100000", MILLRACE_RATE_LIMITS_ORGANIZATION_PER_MINUTE: "100000" }
    const env = { MILLRACE_STORAGE_URL: await lendDatabaseToFile(), ...limits }
    const first = await testHost({ env, capture: false })
    nodes.push(first, await testHost({ env, capture: false, dataDir: first.dataDir }))
    shop = await first.get(UnitsOfWork).run((work) => {
      const [organizations, keys] = [first.get(Organizations), first.get(ApiKeys)]
      const user = organizations.addUser(work, { email: "shop@example.com", name: "Shop" })
      const { id } = organizations.create(work, { name: "Shop", slug: "shop" })
      organizations.addMember(work, id, user.id, "owner")
      return { id, key: keys.mint(work, id, { name: "k", kind: "api_key", role: "owner", scopes: null, user: user.id }).text }
    })
    const response = await first.api<{ secret: string }>("POST", "/v1/api-keys", { name: "Manager", role: "admin", manager: true })
    manager = response.body.secret
    await first.api("POST", "/v1/datasets", { name: "Notes" }, { key: shop.key })
  })
  after(async () => {
    for (const node of nodes.reverse()) await node.stop()
  })

  const first = () => nodes[0] as TestHost
  const link = async (role = "admin") => {
    const { body } = await first().api<{ code: string }>("POST", "/v1/managed-organization-invitations", { role })
    const accepted = await first().api("POST", "/v1/managed-organizations-accept", { code: body.code }, { key: shop.key })
    expect(accepted.status, JSON.stringify(accepted.body)).to.equal(200)
  }
  const end = (node: TestHost) => node.api("DELETE", "/v1/managed-organizations/default", undefined, { key: shop.key })
  const inside = { key: "", headers: { "x-organization-id": "shop" } }
  const write = async (node: TestHost, key: string, note: string) => {
    const options = key === manager ? { ...inside, key } : { key }
    return (await node.api("POST", "/v1/datasets/notes/rows", { rows: [{ note }] }, options)).status
  }
  const writeByTool = async (node: TestHost, note: string) => {
    const params = { name: "datasets_insert_rows", arguments: { slug: "notes", rows: [{ note }] } }
    const answer = await fetch(`${node.url}/mcp`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${manager}`,
        "x-organization-id": "shop",
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
    })
    const text = await answer.text()
    return answer.status === 200 && !text.includes('"isError":true') && !text.includes('"error"') ? 200 : 404
  }
  const dial = async (node: TestHost, auth: object): Promise<Socket> => {
    const socket = io(node.url, { path: "/live", auth, reconnection: false, forceNew: true, transports: ["websocket"] })
    await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("connect_error", reject))
    return socket
  }
  const rows = async () => {
    const notes: string[] = []
    for (let cursor = "", page = 0; page === 0 || cursor !== ""; page++) {
      const path = `/v1/datasets/notes/rows?limit=200&cursor=${encodeURIComponent(cursor)}`
      const { body } = await first().api<{ rows: { values: { note: string } }[]; next_cursor: string }>("GET", path, undefined, {
        key: shop.key,
      })
      notes.push(...body.rows.map(({ values }) => values.note))
      cursor = body.next_cursor
    }
    return notes
  }

  for (let round = 0; round < rounds; round++)
    it(`reaches nothing once the end is answered, round ${round + 1}`, async () => {
      await link()
      const { body: key } = await first().api<{ secret: string }>(
        "POST",
        "/v1/api-keys",
        { name: `Left ${round}`, role: "member" },
        {
          ...inside,
          key: manager,
        },
      )
      const sockets = await Promise.all(
        nodes.flatMap((node) => [dial(node, { token: manager, organization: "shop" }), dial(node, { token: key.secret })]),
      )
      const before = new Set(await rows())
      const notices: string[] = []
      for (const socket of sockets) {
        socket.on("message", ({ data }: { data: unknown }) => notices.push(JSON.stringify(data)))
        expect(await socket.emitWithAck("subscribe", { channel: "datasets:notes" })).to.deep.equal({ ok: true })
      }
      let isOver = false
      const notes: string[] = []
      const late: string[] = []
      const attempts = nodes.flatMap((node, at) => [
        (note: string) => write(node, manager, `rest ${at} ${note}`),
        (note: string) => write(node, key.secret, `left ${at} ${note}`),
        (note: string) => writeByTool(node, `tool ${at} ${note}`),
      ])
      const workers = attempts.map(async (attempt, worker) => {
        for (let n = 0; ; n++) {
          const beganAfter = isOver
          const note = `${round} ${worker} ${n}`
          if ((await attempt(note)) === 200) (beganAfter ? late : notes).push(note)
          if (beganAfter) return
        }
      })
      await until("every worker having written", () =>
        attempts.every((_, worker) => notes.some((note) => note.startsWith(`${round} ${worker} `))),
      )
      const ended = await end(nodes[round % 2] as TestHost)
      isOver = true
      expect(ended.status, JSON.stringify(ended.body)).to.equal(200)
      await Promise.all(workers)
      expect(late).to.deep.equal([])
      const storedNotes = (await rows()).filter((note) => !before.has(note)).map((note) => note.replace(/^\w+ \d /, ""))
      expect(storedNotes.sort()).to.deep.equal(notes.sort())
      await until("every socket being cut", () => sockets.every(({ connected }) => !connected))
      const noticeCount = notices.length
      expect(await write(first(), shop.key, `own ${round}`)).to.equal(200)
      expect(notices.length).to.equal(noticeCount)
      for (const node of nodes)
        for (const auth of [{ token: manager, organization: "shop" }, { token: key.secret }])
          expect(await dial(node, auth).catch((error: { data?: { code?: string } }) => error.data?.code)).to.be.oneOf([
            "not_found",
            "unauthenticated",
          ])
    })

  it("lends a guest's link no more than reading, on both nodes, however the organization is named", async () => {
    await link("guest")
    for (const node of nodes)
      for (const organization of ["shop", shop.id]) {
        const options = { key: manager, headers: { "x-organization-id": organization } }
        expect((await node.api("GET", "/v1/datasets", undefined, options)).status).to.equal(200)
        for (const [method, path, body] of [
          ["POST", "/v1/datasets", { name: "More" }],
          ["GET", "/v1/datasets/notes/rows", undefined],
          ["POST", "/v1/api-keys", { name: "k", role: "guest" }],
          ["POST", "/v1/workstreams", { title: "W" }],
        ] as const) {
          const refused = await node.api<{ details: { reason: string } }>(method, path, body, options)
          expect([refused.status, refused.body.details.reason], path).to.deep.equal([403, "role_too_low"])
        }
      }
    for (const organization of ["SHOP ", "nowhere", "0", "shop,default", "\u0001", "default/../shop", "x".repeat(5_000)]) {
      const headers = { "x-organization-id": encodeURI(organization) }
      const answer = await first().api("GET", "/v1/me", undefined, { key: manager, headers })
      expect(answer.status, organization.slice(0, 20)).to.equal(404)
    }
    expect((await end(first())).status).to.equal(200)
  })
})
