// Live messages over several processes (mongodb). Sockets receive commits of other processes, each message once. An event's
// messages arrive even after the end of its process.
import { type ChildProcess, spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { millrace } from "../../../client/index.ts"
import type { Live } from "../../../core/client/live-types.ts"
import { projectRoot } from "../../import-graph.ts"
import { lendDatabaseToFile, mongoAvailable } from "../../mongodb-server.ts"
import { finished, outputUntil } from "../../processes.ts"
import { untilProcess as until } from "../../waiting.ts"

interface Node {
  readonly url: string
  readonly process: ChildProcess
  readonly over: Promise<unknown>
}

const suite = mongoAvailable ? describe : describe.skip

suite("live updates over two processes (mongodb)", () => {
  const nodes: Node[] = []
  const open: Live[] = []
  let folder: string
  let key: string
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "millrace-audience-"))
    const storage = await lendDatabaseToFile()
    for (const name of ["one", "two"]) nodes.push(await start(storage, join(folder, name)))
    key = (JSON.parse(readFileSync(join(folder, "one/bootstrap.json"), "utf8")) as { admin_key: string }).admin_key
  })
  after(async () => {
    for (const live of open) live.close()
    for (const { process } of nodes) process.kill("SIGKILL")
    await Promise.all(nodes.map(({ over }) => over))
    rmSync(folder, { recursive: true, force: true })
  })

  const on = (index: number) => millrace({ baseUrl: nodes[index]?.url ?? "", key })
  /** Subscribes on a node. Returns the messages so far. */
  const listening = async (index: number) => {
    const live = await on(index).live<{ told: { n: number } }>({ reconnectMs: 50 })
    open.push(live)
    const messages: number[] = []
    await live.subscribe("told", ({ data }) => messages.push(data.n)).ready
    return messages
  }

  it("reach by a filter the sockets of both, and go on with it on the other node", async () => {
    for (const name of ["Wanted", "Unwanted"])
      await on(0).eventPipelines.create({ name, state: "active", source_kind: "internal", pipeline: [] })
    const send = async (index: number, slug: string) => (await on(index).eventPipelines.sendEvent({ slug, payload: {} })).execution_id
    const hearing = async (index: number, after?: string) => {
      const live = await on(index).live<{ executions: { id: string } }>({ reconnectMs: 50 })
      open.push(live)
      const messages: string[] = []
      const filter = { pipeline: "wanted", is_test: false }
      const options = { filter, ...(after !== undefined && { after }), onGap: () => messages.push("a gap") }
      const subscription = live.subscribe("executions", ({ data }) => messages.push(data.id), options)
      await subscription.ready
      return { heard: messages, subscription, close: () => live.close() }
    }
    const [first, second] = [await hearing(0), await hearing(1)]
    const expected: string[] = []
    for (let n = 0; n < 8; n++) {
      await send(n % 2, "unwanted")
      expected.push(await send(n % 2, "wanted"))
    }
    await until(() => first.heard.length >= 8 && second.heard.length >= 8)
    expect(first.heard).to.have.members(expected)
    expect(second.heard).to.have.members(expected)

    const position = first.subscription.position()
    first.close()
    const missed: string[] = []
    for (let n = 0; n < 8; n++) {
      await send(n % 2, "unwanted")
      missed.push(await send(n % 2, "wanted"))
    }
    const elsewhere = await hearing(1, position)
    await until(() => elsewhere.heard.length >= 8)
    missed.push(await send(0, "wanted"))
    await until(() => elsewhere.heard.length >= 9 && second.heard.length >= 17)
    expect(elsewhere.heard).to.have.members(missed)
    expect(second.heard).to.have.members([...expected, ...missed])
  })

  it("reach the sockets of both with names and values that the database reserves", async () => {
    const { slug } = await on(0).eventPipelines.create({
      name: "Odd",
      state: "active",
      source_kind: "internal",
      pipeline: [{ type: "live.broadcast", channel: "odd", data: { of: "{{ event }}" } }],
    })
    const odd: { of: unknown }[] = [
      { _bsontype: "Long", low: 1 },
      { $ref: "a.b", $id: 1, $db: "c" },
      { z: [{ _bsontype: null }], a: 1 },
    ].map((of) => ({ of }))
    const received = await Promise.all(
      [0, 1].map(async (index) => {
        const live = await on(index).live<{ odd: { of: unknown } }>({ reconnectMs: 50 })
        open.push(live)
        const messages: unknown[] = []
        await live.subscribe("odd", ({ data }) => messages.push(data)).ready
        return messages
      }),
    )
    for (const { of } of odd) await on(0).eventPipelines.sendEvent({ slug, payload: of as never })
    await until(() => received.every((messages) => messages.length >= odd.length))
    for (const messages of received) expect(messages).to.have.deep.members(odd)
  })

  it("reach the sockets of both, whichever took the event, each message once", async () => {
    const { slug } = await on(0).eventPipelines.create({
      name: "Tell",
      state: "active",
      auth_mode: "none",
      pipeline: [{ type: "live.broadcast", channel: "told", data: { n: "{{ event.n }}" } }],
    })
    const [first, second] = [await listening(0), await listening(1)]
    for (let n = 0; n < 10; n++) await on(n % 2).eventPipelines.sendEvent({ slug, payload: { n } })
    await until(() => first.length >= 10 && second.length >= 10)
    const all = Array.from({ length: 10 }, (_, n) => n)
    for (const messages of [first, second]) expect([...messages].sort((a, b) => a - b)).to.deep.equal(all)

    await on(0).eventPipelines.sendEvent({ slug, payload: { n: 10 } })
    nodes[0]?.process.kill("SIGKILL")
    await on(1).eventPipelines.sendEvent({ slug, payload: { n: 11 } })
    await until(() => second.length >= 12)
    expect([...second].sort((a, b) => a - b)).to.deep.equal([...all, 10, 11])
  })
})

async function start(storage: string, dataDir: string): Promise<Node> {
  const env = {
    PATH: process.env["PATH"] ?? "",
    PORT: "0",
    MILLRACE_STORAGE_URL: storage,
    MILLRACE_DATA_DIR: dataDir,
    MILLRACE_MASTER_KEY: createHash("sha256").update("shared").digest("hex"),
    MILLRACE_PIPELINES_PATHS: ",",
  }
  const child = spawn(process.execPath, [join(projectRoot, "core/main.ts")], { env, cwd: projectRoot })
  const over = finished(child)
  const output = await outputUntil(child, /"msg":"listening"/)
  const url = /"url":"([^"]+)","msg":"listening"/.exec(output)?.[1] ?? ""
  return { url, process: child, over }
}
