// Multipart bodies that pipelines refuse. The request gets a 4xx answer and leaves no rejected promise behind.
import { setImmediate } from "node:timers/promises"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { Bench, type Made, post } from "../bench.ts"

const type = "multipart/form-data; boundary=X"
const part = (header: string, value: string) => `--X\r\nContent-Disposition: form-data; ${header}\r\n\r\n${value}\r\n`
const field = part('name="a"', "1")
const file = part('name="cv"; filename="cv.pdf"', "%PDF")

const unreadable: Record<string, string> = {
  "without a closing boundary": field,
  "cut inside a file": file.slice(0, -2),
  "cut inside a part header": `${field}--X\r\nContent-Dispo`,
  "with a malformed part header": `--X\r\nbroken\u0000header\r\n\r\n1\r\n--X--\r\n`,
  "with line feeds alone": `${field}--X--\r\n`.replaceAll("\r\n", "\n"),
  "that is empty": "",
}

describe("multipart body", () => {
  let host: TestHost
  let bench: Bench
  const endpoints: Record<string, Made> = {}
  before(async () => {
    host = await testHost()
    bench = new Bench(host)
    endpoints["open"] = await bench.make({ name: "Open" })
    const keyed = { auth_mode: "hmac_sha256", auth_config: { secret: "correct-horse-SECRET-77" } }
    endpoints["signed"] = await bench.make({ name: "Signed", ...keyed })
    endpoints["viewer"] = await bench.make({ name: "Viewer", auth_mode: "authenticated_viewer" })
  })
  afterEach(async () => {
    // The runner fails the test of this turn if a promise was rejected without a handler.
    await setImmediate()
  })
  after(async () => {
    await host.stop()
  })

  for (const [title, body] of Object.entries(unreadable)) {
    it(`${title} is refused as malformed, or as unverified`, async () => {
      const open = await post(endpoints["open"]?.inbound_url ?? "", body, { "content-type": type })
      expect([open.status, open.body.details?.reason], open.text).to.be.deep.oneOf([
        [400, "malformed_body"],
        [415, "unsupported_content_type"],
      ])
      for (const name of ["signed", "viewer"])
        expect((await post(endpoints[name]?.inbound_url ?? "", body, { "content-type": type })).status, name).to.equal(401)
    })
  }

  it("with an unsigned file is refused, and the journal lists the request", async () => {
    const answer = await post(endpoints["signed"]?.inbound_url ?? "", `${field}${file}--X--\r\n`, { "content-type": type })
    expect(answer.status).to.equal(401)
    expect(await bench.newest("signed")).to.include({ status: "rejected", cause: "missing_header" })
  })

  for (const charset of ["nonsense", '"x;y"', "utf-16le"]) {
    it(`keeps a field with the charset ${charset} that another client gave it`, async () => {
      const typed = `name="a"\r\nContent-Type: text/plain; charset=${charset}`
      const value = charset === "utf-16le" ? "1\u00002\u0000" : "12"
      const body = `${part(typed, value)}${part('name="b"', "3")}--X--\r\n`
      const answer = await post(endpoints["open"]?.inbound_url ?? "", body, { "content-type": type })
      expect(answer.status, answer.text).to.equal(200)
      expect((await bench.newest("open")).payload_preview).to.include('"a":"12","b":"3"')
    })
  }

  it("has an empty name for a part without a name", async () => {
    const body = `${part('name=""', "1")}--X\r\nContent-Disposition: form-data\r\n\r\n2\r\n--X--\r\n`
    expect((await post(endpoints["open"]?.inbound_url ?? "", body, { "content-type": type })).status).to.be.below(500)
    expect((await bench.newest("open")).payload_preview).to.not.include("undefined")
  })
})
