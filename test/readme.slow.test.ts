// The README is correct: its commands, its worked example and its action run unchanged.
import { type ChildProcess, spawn } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { readPage } from "./docs/page.ts"
import { projectRoot } from "./import-graph.ts"
import { finished, outputUntil } from "./processes.ts"
import { untilProcess as until } from "./waiting.ts"

const page = readPage("README.md")
const readme = page.text

function blocks(language: string): string[] {
  return page.blocks.filter((block) => block.language === language).map(({ text }) => text)
}

describe("README", () => {
  let folder: string
  beforeEach(() => {
    // Inside the project, so #core and packages resolve as for its readers.
    folder = mkdtempSync(join(projectRoot, ".readme-"))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  it("leads to a row, a mail, a journal entry, a live update and the pipeline's own answer", async () => {
    mkdirSync(join(folder, "data"))
    const host: TestHost = await testHost({ dataDir: join(folder, "data"), shippedPipelines: true, capture: false })
    let listener: ChildProcess | undefined
    try {
      const [listen = ""] = blocks("js")
      listener = spawn(process.execPath, ["--input-type=module", "-e", listen], { cwd: folder })
      await outputUntil(listener, /subscribed true/)
      const output = outputUntil(listener, /leads \{.*ada@example\.com/s)

      const curl = /curl -sS -H 'content-type: application\/json' -d '(\{.*?\})' (\S+)/
      const [, exampleBody = "none"] = curl.exec(readme) ?? []
      const [, body = "", url = ""] = curl.exec(host.runtime.listening.greetings.join("\n")) ?? []
      expect(body).to.equal(exampleBody)
      const send = () => fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body })
      const answers = [await send(), await send()]
      expect(answers.map(({ status }) => status)).to.deep.equal([201, 201])
      expect(await answers[0]?.json()).to.have.keys("ok", "row_id")

      let id = ""
      const paths = [...readme.matchAll(/"authorization: Bearer \$KEY" '?http:\/\/127\.0\.0\.1:8080(\/v1[^\s']+)/g)].map(
        ([, value = ""]) => value,
      )
      expect(paths.length).to.be.at.least(3)
      const executions = async () =>
        (await host.api<{ executions: { status: string }[] }>("GET", "/v1/event-pipelines/website-lead/executions")).body.executions
      expect(await executions()).to.have.length(2)
      for (const path of paths) {
        const { status, body: row } = await host.api("GET", path.replace("$ID", id))
        expect(status, path).to.equal(200)
        expect(JSON.stringify(row), path).to.include("ada@example.com")
        if (path.includes("/rows")) expect(row["rows"]).to.have.length(1)
        if (path.endsWith("/executions?limit=1")) {
          expect(row["executions"], path).to.have.length(1)
          id = (row["executions"] as { id: string }[])[0]?.id ?? ""
        }
        if (path.endsWith("/$ID")) expect(row["steps"], path).to.not.be.empty.and.to.have.nested.property("[0].ms")
      }
      await output
      const refused = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: '{"name":"Ada"}' })
      expect(refused.status).to.equal(400)
      expect((await executions()).map(({ status }) => status).sort()).to.deep.equal(["accepted", "accepted", "rejected"])
      const outbox = join(folder, "data/outbox")
      await until(
        "two mails in the outbox",
        () => existsSync(outbox) && readdirSync(outbox).filter((name) => name.endsWith(".eml")).length === 2,
      )
    } finally {
      listener?.kill()
      await host.stop()
    }
  })

  it("shows one call five ways, with one answer", async () => {
    mkdirSync(join(folder, "data"))
    const host = await testHost({ dataDir: join(folder, "data"), shippedPipelines: true, capture: false })
    const env = { PATH: process.env["PATH"], HOME: folder }
    try {
      const [, body = "", url = ""] = /-d '(\{.*?\})' (\S+)/.exec(host.runtime.listening.greetings.join("\n")) ?? []
      expect((await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body })).status).to.equal(201)
      const { body: others } = await host.api<{ rows: { id: string }[] }>("GET", "/v1/datasets/leads/rows?limit=1")
      const id = others.rows[0]?.id ?? "no row"

      const section = readme.slice(readme.indexOf("## The same call"), readme.indexOf("## A pipeline of your own"))
      const curls = [...section.matchAll(/^ *curl -sS (.*) '(http:\/\/127\.0\.0\.1:8080(\S+))'$/gm)]
      expect(curls.map(([, , , path]) => path)).to.deep.equal(["/v1/datasets/leads/rows?limit=1", "/mcp"])
      let message = ""
      for (const [, options = "", , path = ""] of curls) {
        const headers = Object.fromEntries(
          [...options.matchAll(/-H ["']([\w-]+): (.*?)["']/g)].map(([, name = "", value = ""]) => [
            name,
            value.replace("$KEY", host.adminKey),
          ]),
        )
        const payload = /-d '(.*)'/.exec(options)?.[1]
        message = payload ?? message
        const response = await fetch(host.url + path, { headers, ...(payload === undefined ? {} : { method: "POST", body: payload }) })
        expect(await response.text(), path).to.include(id)
      }

      const program = join(projectRoot, "core/millrace.js")
      const commands = [...section.matchAll(/^ *npx millrace (.*)$/gm)].map(([, line = ""]) => line.split(" "))
      expect(commands.map(([name]) => name)).to.deep.equal(["login", "datasets", "mcp"])
      for (const args of commands) {
        const child = spawn(process.execPath, [program, ...args], { cwd: folder, env })
        const over = args[0] === "mcp" ? outputUntil(child, new RegExp(id)) : undefined
        if (over) child.stdin?.write(`${message}\n`)
        const ended = finished(child)
        await over
        child.stdin?.end()
        const { code, output } = await ended
        expect(code, output).to.equal(0)
        expect(output, args.join(" ")).to.include(args[0] === "login" ? "owner of default" : id)
      }

      const [, script = ""] = blocks("js")
      const ran = await finished(spawn(process.execPath, ["--input-type=module", "-e", script], { cwd: folder, env }))
      expect(ran.code, ran.output).to.equal(0)
      expect(ran.output).to.include(id)
    } finally {
      await host.stop()
    }
  })

  it("shows an action that compiles, and whose test passes", async () => {
    const sources = page.blocks.filter(({ language }) => language === "ts").map(({ file = "", text }) => ({ path: file, text }))
    expect(sources.map(({ path }) => path)).to.deep.equal([
      "plugins/actions/lead-score/index.ts",
      "test/plugins/actions/lead-score.test.ts",
    ])
    for (const { path, text } of sources) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), text)
    }
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ extends: "../tsconfig.json", include: ["plugins", "test"] }))
    const bin = join(projectRoot, "node_modules/.bin")
    const [compiled, ran] = await Promise.all([
      finished(spawn(join(bin, "tsc"), ["-p", folder])),
      finished(spawn(process.execPath, [join(bin, "mocha"), join(folder, sources[1]?.path ?? "")], { cwd: projectRoot })),
    ])
    expect(compiled).to.deep.equal({ code: 0, output: "" })
    expect(ran.code, ran.output).to.equal(0)
    expect(ran.output).to.match(/^([5-9]|\d{2,}) passed, 0 failed$/m)
  })
})
