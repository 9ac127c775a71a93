// Target service and key of the commands for pipelines.
import { copyFileSync, mkdirSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { finished, outputUntil } from "../../processes.ts"
import { runMillrace } from "../command-line.ts"
import { CommandFolder } from "./command.ts"

const ping = "name: Ping\nstate: active\nauth_mode: none\npipeline: [{ type: respond, body: { pong: true } }]\n"

describe("the service that pipelines are planned against", () => {
  let host: TestHost
  let folder: CommandFolder
  let home: Record<string, string>
  before(async () => {
    host = await testHost({})
  })
  after(() => host.stop())
  beforeEach(() => {
    folder = new CommandFolder()
    home = { HOME: folder.path }
    folder.write("ping.yaml", ping)
  })
  afterEach(() => folder.remove())

  const login = async (...more: string[]) => {
    const { code, err } = await runMillrace(["login", "--url", host.url, ...more], { env: home, stdin: host.adminKey })
    expect(code, err).to.equal(0)
  }
  const startedHere = () => {
    mkdirSync(join(folder.path, "data"))
    copyFileSync(join(host.dataDir, "bootstrap.json"), join(folder.path, "data/bootstrap.json"))
  }
  /** Starts another service and records the received keys. */
  const stranger = async () => {
    const messages: (string | undefined)[] = []
    const server = createServer((request, response) => {
      messages.push(request.headers.authorization)
      response.writeHead(401).end()
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, heard: messages, close: () => server.close() }
  }

  it("is that of the current profile, or of the one named, for each command", async () => {
    await login()
    await login("--profile", "other", "--organization", "default")
    await runMillrace(["profiles", "--use", "default"], { env: home })
    const applied = await folder.run(["apply", "ping.yaml"], home)
    expect([applied.code, applied.output]).to.deep.equal([0, "+ created    ping  ping.yaml\n1 created\n"])
    const result = await folder.run(["plan", "ping.yaml", "--profile", "other"], home)
    expect(result.output).to.equal("1 unchanged\n")
    const unknown = await folder.run(["plan", "ping.yaml", "--profile", "othr"], home)
    expect([unknown.code, unknown.output.includes('The profile "othr" does not exist')], unknown.output).to.deep.equal([1, true])

    const pipeline = (await host.api<{ inbound_url: string }>("GET", "/v1/event-pipelines/ping")).body
    const { body } = await host.send<{ pong: boolean }>(pipeline, { n: 1 })
    expect(body).to.deep.equal({ pong: true })
    const { executions } = (await host.api<{ executions: { id: string }[] }>("GET", "/v1/event-pipelines/ping/executions")).body
    const ran = await folder.run(["run", "ping.yaml", "--from-execution", executions[0]?.id ?? ""], home)
    expect(ran.code, ran.output).to.equal(0)
    for (const args of [["tail"], ["listen", "--forward", "http://127.0.0.1:9/"]]) {
      const following = folder.follow(args, home)
      const ending = finished(following)
      try {
        await outputUntil(following, new RegExp(`(Listening to|events of) ${host.url}`))
      } finally {
        following.stop()
        await ending
      }
    }
  })

  it("is the local one where nothing says which, and its key goes nowhere else", async () => {
    startedHere()
    const local = await folder.run(["plan", "ping.yaml"], home)
    expect(local.code, local.output).to.equal(0)
    const same = await folder.run(["plan", "ping.yaml", "--url", `${host.url}/`], home)
    expect(same.code, same.output).to.equal(0)
    const { url, heard: messages, close } = await stranger()
    try {
      const results = [
        await folder.run(["plan", "ping.yaml", "--url", url], home),
        await folder.run(["apply", "ping.yaml"], { ...home, MILLRACE_URL: url }),
        await folder.run(["tail", "--url", url], home),
      ]
      for (const { code, output } of results) {
        expect([code, output.trim()]).to.deep.equal([3, `No key is stored for ${url}: run \`millrace login\`, or set MILLRACE_KEY.`])
      }
      await login()
      expect((await folder.run(["plan", "ping.yaml", "--url", url], home)).code).to.equal(3)
      expect(messages).to.deep.equal([])
      await folder.run(["plan", "ping.yaml", "--url", url, "--key", "given"], home)
      expect(messages).to.deep.equal(["Bearer given"])
    } finally {
      close()
    }
  })

  it("says what is wrong with a local service's file", async () => {
    folder.write("data/bootstrap.json", "{}")
    const { code, output } = await folder.run(["plan", "ping.yaml"], home)
    expect(`${code},${output.trim()}`).to.match(
      /^1,.*bootstrap\.json does not hold what a first start writes \(base_url and admin_key\)\.$/,
    )
  })
})
