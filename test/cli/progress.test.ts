// Progress messages of a waiting command: at a terminal, never into a pipe.
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { expect } from "chai"
import { until } from "../waiting.ts"
import { runMillrace } from "./command-line.ts"

describe("a command that takes long", () => {
  let waiting: (response: ServerResponse) => void = () => {}
  const service = createServer((request, response) => {
    request.resume()
    waiting(response)
  })
  let env: Record<string, string>
  before(async () => {
    await new Promise<void>((resolve) => service.listen(0, "127.0.0.1", resolve))
    env = { MILLRACE_URL: `http://127.0.0.1:${(service.address() as AddressInfo).port}`, MILLRACE_KEY: "k", HOME: "/nonexistent" }
  })
  after(() => {
    service.closeAllConnections()
    service.close()
  })
  const answer = (response: ServerResponse) => response.setHeader("content-type", "application/json").end('{"role":"owner"}')

  it("says on a terminal what it waits for, and wipes it away before the answer; nothing into a pipe", async () => {
    const responses: ServerResponse[] = []
    waiting = (response) => void responses.push(response)
    const piped = runMillrace(["me", "get", "--json"], { env })
    await until("the question of the command with a pipe", () => responses.length === 1)
    // Answers both once the later command has printed two messages.
    const onErr = (text: string) => {
      if (text.split("Waiting").length === 3) for (const response of responses.splice(0)) answer(response)
    }
    const { code, out, err } = await runMillrace(["me", "get"], { env, columns: 80, onErr })
    expect([code, out]).to.deep.equal([0, "role: owner\n"])
    expect(await piped).to.deep.include({ code: 0, err: "" })
    const wipe = "\r\u001b[K"
    expect(err.split(wipe)[1]).to.match(/^Waiting for me\.get, \d+ s$/)
    expect(err.endsWith(wipe)).to.equal(true)
  })

  it("says that it tries again, and why", async () => {
    let requestCount = 0
    waiting = (response) => {
      if (++requestCount > 1) return void answer(response)
      response.writeHead(503, { "retry-after": "2", "content-type": "application/json" })
      response.end('{"code":"unavailable","message":"The service is stopping.","details":{}}')
    }
    const { code, err } = await runMillrace(["me", "get"], { env, columns: 80 })
    expect([code, requestCount]).to.deep.equal([0, 2])
    expect(err).to.match(/unavailable: trying again in \d+ s/)
  })
})
