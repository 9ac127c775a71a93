// Logs are one JSON object per line. Secrets are removed at any depth.
import { spawn } from "node:child_process"
import { closeSync, existsSync, openSync } from "node:fs"
import { stripVTControlCharacters } from "node:util"
import { expect } from "chai"
import { createLog, logText } from "../../core/kernel/log.ts"
import { isSecretName, mayNameSecret } from "../../core/kernel/secret-names.ts"
import { finished } from "../processes.ts"

function logging(level = "info") {
  const lines: string[] = []
  return { log: createLog(level, { write: (line) => void lines.push(line) }), lines }
}

describe("log", () => {
  it("writes one JSON object a line, dated, with what the caller bound", () => {
    const { log, lines } = logging()
    log.child({ request_id: "r-1" }).info({ rows: 2 }, "written")
    expect(lines).to.have.length(1)
    const line = JSON.parse(lines[0] ?? "") as Record<string, unknown>
    expect(line).to.deep.include({ level: 30, request_id: "r-1", rows: 2, msg: "written" })
    expect(line["time"]).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    expect(lines[0]?.endsWith("\n")).to.equal(true)
  })

  it("is text for a terminal, with lists and stacks on lines of their own", () => {
    const texts: string[] = []
    const log = createLog("info", { write: (line) => void texts.push(stripVTControlCharacters(logText(line))) })
    log.warn({ pipeline: "lead", problems: ["a.yaml:1:1: one", "a.yaml:2:1: two"], count: 2 }, "refused.")
    log.error({ err: new Error("broken") }, "failed")
    expect(texts[0]).to.match(/^\d\d:\d\d:\d\d warn {2}refused\. pipeline=lead count=2\n {9}a\.yaml:1:1: one\n {9}a\.yaml:2:1: two\n$/)
    expect(texts[1]).to.match(/^\S+ error failed\n {9}Error: broken\n {13}at /)
    expect(logText("not of the log\n")).to.equal("not of the log\n")
  })

  it("costs lines and not the service where they cannot be written", async function () {
    if (!existsSync("/dev/full")) this.skip()
    const full = openSync("/dev/full", "w")
    const script = `
      import { createLog } from ${JSON.stringify(new URL("../../core/kernel/log.ts", import.meta.url))}
      const log = createLog("info")
      for (let line = 0; line < 100; line++) setTimeout(() => log.info("a line"), line)
      setTimeout(() => process.exit(7), 500)`
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: ["ignore", full, "pipe"] })
    closeSync(full)
    expect(await finished(child)).to.deep.equal({ code: 7, output: "" })
  })

  const secretNames = [
    ...["authorization", "cookie", "set-cookie", "password", "secret", "token", "credentials", "api_key", "admin_key"],
    ...["bootstrap_key", "master_key", "access_token", "refresh_token", "private_key", "client_secret", "secret_access_key"],
    ...["x-webhook-secret", "verify_token", "apiKey", "client-secret", "x-api-key", "accessToken", "card_number", "cvc", "token_"],
  ]

  it("tells from a text whether it may name a secret, and never misses one", () => {
    for (const name of secretNames) {
      expect(isSecretName(name), name).to.equal(true)
      for (const text of [`{"${name}":1}`, `{ "${name}" : 1 }`, `${name}=1`, `'${name}': 1`])
        expect(mayNameSecret(text), text).to.equal(true)
    }
    expect(mayNameSecret('{"email":"a@b.test","author":"x","token_count":2}')).to.equal(false)
  })

  it("cuts every secret name at every depth, in lists too, and nothing else", () => {
    const { log, lines } = logging()
    for (const name of secretNames) {
      const inner = { [name]: "hunter2", kept: "visible" }
      log.info({ ...inner, one: inner, two: { inner }, three: { inner: [{ inner }] } }, name)
    }
    expect(lines).to.have.length(secretNames.length)
    for (const line of lines) {
      expect(line).to.not.include("hunter2")
      expect(line.match(/visible/g)).to.have.length(4)
      expect(line.match(/\[redacted\]/g)).to.have.length(4)
    }
  })

  it("cuts them in what a child is bound to, in errors, and in any case of a header's name", () => {
    const { log, lines } = logging()
    log.child({ token: "hunter2" }).info("bound")
    log
      .child({ job: "j" })
      .child({ request: { headers: { cookie: "hunter2" } } })
      .info("bound deeper")
    log.error({ err: Object.assign(new Error("refused"), { headers: { Authorization: "hunter2", Cookie: "hunter2" } }) }, "failed")
    log.info({ headers: { "X-Webhook-Secret": "hunter2", AUTHORIZATION: "hunter2" } }, "headers")
    expect(lines.join("")).to.include("refused").and.include('"job":"j"').and.not.include("hunter2")
  })

  it("ends a circle and what is too deep to read", () => {
    const { log, lines } = logging()
    const circle: Record<string, unknown> = { password: "hunter2" }
    circle["self"] = circle
    log.info(circle, "round")
    expect(lines[0]).to.include("[deeper]").and.not.include("hunter2")
  })

  it("keeps an error's type, message, stack, cause and own fields", () => {
    const { log, lines } = logging()
    log.error({ err: new TypeError("outer", { cause: new Error("inner") }) }, "failed")
    log.error(Object.assign(new Error("alone"), { code: "EPIPE", date: new Date(0) }))
    const [first, second] = lines.map((line) => JSON.parse(line) as { err: Record<string, string> })
    expect(first?.err).to.include({ type: "TypeError" })
    expect(first?.err["message"]).to.include("outer").and.include("inner")
    expect(first?.err["stack"]).to.include("log.test.ts")
    expect(second?.err).to.include({ code: "EPIPE", message: "alone", date: "1970-01-01T00:00:00.000Z" })
  })

  it("leaves what was logged as it was", () => {
    const { log } = logging()
    const body = { password: "hunter2", deep: { secret: "hunter2" } }
    log.info({ body }, "x")
    expect(body).to.deep.equal({ password: "hunter2", deep: { secret: "hunter2" } })
  })

  it("says nothing below its level", () => {
    const { log, lines } = logging("warn")
    log.info("quiet")
    log.warn("loud")
    expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).to.deep.equal(["loud"])
  })
})
