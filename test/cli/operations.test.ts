// `millrace <area> <verb>` against a real service: flags, files, tables, JSON, pages, exports, errors and exit codes.

import { execFile } from "node:child_process"
import { randomBytes } from "node:crypto"
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect } from "chai"
import { Command } from "commander"
import { Declarations } from "#core/engine"
import { type TestHost, testHost } from "#core/testing"
import { addOperationCommands } from "../../core/cli/operations/commands.ts"
import { exitCodeOf } from "../../core/cli/operations/problem.ts"
import { Operations } from "../../core/contract/operation.ts"
import { httpStatusOf } from "../../core/kernel/errors.ts"
import { cuttingProxy } from "../client/cutting-proxy.ts"
import { projectRoot } from "../import-graph.ts"
import { type RunOptions, runMillrace } from "./command-line.ts"

describe("operations as commands", () => {
  let host: TestHost
  let folder: string
  before(async () => {
    host = await testHost()
    folder = mkdtempSync(join(tmpdir(), "millrace-commands-"))
  })
  after(async () => {
    await host.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  const env = () => ({ MILLRACE_URL: host.url, MILLRACE_KEY: host.adminKey, XDG_CONFIG_HOME: folder })
  const run = (args: string[], { env: more = {}, ...options }: RunOptions = {}) =>
    runMillrace(args, { env: { ...env(), ...more }, ...options })
  const json = async (args: string[], options?: RunOptions) => {
    const { code, out, err } = await run([...args, "--json"], options)
    expect(code, err).to.equal(0)
    return JSON.parse(out) as Record<string, never>
  }

  it("are there for every operation, with its summary and every input field", async () => {
    const operations = host.get(Declarations).items(Operations)
    expect(operations.map(({ name }) => name)).to.include("datasets.create")
    const areas = await run(["--help"])
    const program = new Command("millrace")
    addOperationCommands(program, host.get(Declarations), {
      terminal: process,
      exit: () => undefined,
      asOperator: () => Promise.reject(new Error("This test calls nothing as the operator.")),
    })
    const commandOf = (area: string, verb: string) =>
      program.commands.find((command) => command.name() === area)?.commands.find((command) => command.name() === verb)
    const tried = new Set<string>()
    for (const { name, summary, http, cli } of operations) {
      const [area = "", verb = ""] = name.replaceAll("_", "-").split(".")
      if (cli) {
        expect((await run([area, "--help"])).out, name).to.not.include(`${verb} `)
        continue
      }
      expect(areas.out).to.match(new RegExp(`^  ${area} `, "m"))
      const helps = [commandOf(area, verb)?.configureHelp({ helpWidth: 500 }).helpInformation() ?? ""]
      // Runs one help per area, since each run creates the commands again.
      if (!tried.has(area)) helps.push((await run([area, verb, "--help"], { columns: 500 })).out)
      tried.add(area)
      for (const help of helps) {
        expect(help.replaceAll(/\s+/g, " "), name).to.include(summary.slice(0, 40))
        for (const [, parameter] of http.path.matchAll(/\{(\w+)\}/g)) expect(help, name).to.include(`[${parameter}]`)
      }
    }
  })

  it("take flags of each type, lists again and again, objects as JSON", async () => {
    const created = await json(["datasets", "create", "--name", "Flags", "--class", "events"])
    expect(created).to.include({ slug: "flags", class: "events" })
    const key = await json([
      "api-keys",
      "create",
      "--name",
      "Two",
      "--kind",
      "token",
      "--scopes",
      "datasets:read",
      "--scopes",
      "pages:read",
      "--no-manager",
    ])
    expect(key).to.deep.include({ kind: "token", scopes: ["datasets:read", "pages:read"], manager: false })
    const joined = await run(["api-keys", "create", "--name", "Three", "--kind", "token", "--scopes", "datasets:read,pages:read"])
    expect([joined.code, joined.out]).to.deep.equal([2, ""])
    expect(joined.err).to.include("One value per flag: --scopes … --scopes ….")
    const rows = await json(["datasets", "insert-rows", "flags", "--rows", '[{"n":1},{"n":-2}]'])
    expect(rows["row_ids"]).to.have.length(2)
    const page = await json(["datasets", "list-rows", "flags", "--sort", "n", "--limit", "1"])
    expect(page["rows"]).to.have.length(1)
    const { revision } = await json(["datasets", "get", "flags"])
    expect((await run(["datasets", "update", "flags", "--status", "archived", "--expected-revision", "99"])).code).to.equal(5)
    expect(await json(["datasets", "update", "flags", "--status", "archived", "--expected-revision", String(revision)])).to.include({
      status: "archived",
    })
  })

  it("take a lone null as the null of a list", async () => {
    const set = await json(["autonomy-gates", "set", "--gates", "null"])
    expect(set["gate_everything"]).to.equal(true)
    const some = await json(["autonomy-gates", "set", "--gates", "email.send"])
    expect([some["gate_everything"], some["gates"]]).to.deep.equal([false, ["email.send"]])
    const { code, err } = await run(["autonomy-gates", "set", "--gates", "email.send", "--gates", "null"])
    expect([code, err]).to.satisfy(([status, text]: [number, string]) => status !== 0 && text.includes('"null"'))
  })

  it("take the input from a file or standard input, flags over it", async () => {
    const file = join(folder, "dataset.yaml")
    writeFileSync(file, "name: From a file\nslug: from-a-file\ndescription: |\n  Two\n  lines\n")
    expect(await json(["datasets", "create", "--file", file, "--slug", "over"])).to.include({
      name: "From a file",
      slug: "over",
      description: "Two\nlines\n",
    })
    expect(await json(["datasets", "create", "--file", "-"], { stdin: '{"name":"From a pipe"}' })).to.include({ slug: "from-a-pipe" })
    const rows = join(folder, "rows.json")
    writeFileSync(rows, '[{"a":1}]')
    expect((await json(["datasets", "insert-rows", "over", "--rows", `@${rows}`]))["row_ids"]).to.have.length(1)
    const pipeline = await json(["event-pipelines", "validate", "--document", `@${join(projectRoot, "pipelines/website-lead.yaml")}`])
    expect(pipeline).to.include({ ok: true })
    writeFileSync(file, "- a list\n")
    expect(await run(["datasets", "create", "--file", file])).to.include({ code: 1, out: "" })
    expect((await run(["datasets", "create", "--file", join(folder, "none.yaml")])).err).to.include("none.yaml cannot be read")
  })

  it("refuse a file whose aliases multiply, hold themselves or are too many, in a line", async () => {
    const file = join(folder, "aliases.yaml")
    const refused = async (text: string) => {
      writeFileSync(file, text)
      const { code, out, err } = await run(["datasets", "create", "--file", file])
      expect([code, out]).to.deep.equal([1, ""])
      expect(err.trim().split("\n"), err).to.have.length(1)
      return err
    }
    const levels = Array.from({ length: 12 }, (_, i) => `l${i + 1}: &l${i + 1} [${Array(10).fill(`*l${i}`).join(", ")}]`)
    expect(await refused(`l0: &l0 x\n${levels.join("\n")}\n`)).to.include("repeated more than 100 times")
    expect(await refused("name: &a { b: *a }\n"))
      .to.include("stands within its own anchor")
      .and.include("line 1, column 15")
    expect(await refused(`name: &a x\nb: [${Array(2_000).fill("*a").join(", ")}]\n`)).to.include("at most 1000 aliases")
  })

  it("show a list as a table that fits, an answer as YAML, and nothing that a terminal would obey", async () => {
    await run(["datasets", "create", "--name", "Shown"])
    await run(["datasets", "insert-rows", "shown", "--rows", '[{"who":"Ada\\u001b[31m\\u202e","note":"one\\ntwo"}]'])
    const table = await run(["datasets", "list-rows", "shown"], { columns: 200 })
    expect(table.out.split("\n")[0]).to.match(/^ID +VALUES\.NOTE +VALUES\.WHO +CREATED_AT|^ID +VALUES\.WHO +VALUES\.NOTE +CREATED_AT/)
    expect(table.out).to.include("Ada\\u001b[31m\\u202e").and.include("one ↵ two")
    const narrow = await run(["datasets", "list-rows", "shown"], { columns: 60 })
    expect(narrow.out).to.include("--json shows them")
    for (const line of narrow.out.split("\n").filter((entry) => !entry.startsWith("Also"))) expect(line.length).to.be.at.most(60)
    const sets = await run(["datasets", "list"], { columns: 200 })
    expect(sets.out.split("\n")[0]).to.match(/^SLUG +NAME +CLASS .* ID /)
    const result = await run(["datasets", "get", "shown"])
    expect(result.out).to.match(/^id: .*\nslug: shown\nname: Shown\n/)
    await run(["datasets", "create", "--name", "Empty"])
    expect((await run(["datasets", "list-rows", "empty"])).out).to.equal("(none)\n")
  })

  it("read every page with --all, and say that there is more without", async () => {
    await run(["datasets", "create", "--name", "Many"])
    const rows = JSON.stringify(Array.from({ length: 23 }, (_, n) => ({ n })))
    await run(["datasets", "insert-rows", "many", "--file", "-"], { stdin: `{"rows":${rows}}` })
    const page = await run(["datasets", "list-rows", "many", "--limit", "10"])
    expect(page.out).to.include("More results: use --all")
    const all = await run(["datasets", "list-rows", "many", "--limit", "10", "--all", "--json"])
    expect(
      all.out
        .trim()
        .split("\n")
        .map((line) => (JSON.parse(line) as { values: { n: number } }).values.n)
        .sort((a, b) => a - b),
    ).to.deep.equal(Array.from({ length: 23 }, (_, n) => n))
    expect((await run(["datasets", "list-rows", "many", "--limit", "10", "--all"])).out.trim().split("\n")).to.have.length(24)
    expect((await run(["datasets", "list", "--limit", "2", "--all", "--json"])).out.trim().split("\n")).to.have.length(
      Number((await json(["datasets", "list"]))["total"]),
    )
  })

  it("stream exports to standard output or a file, whole or not at all", async () => {
    await run(["datasets", "create", "--name", "Export"])
    await run(["datasets", "insert-rows", "export", "--rows", '[{"n":1},{"n":2}]'])
    const out = await run(["datasets", "export", "export"])
    expect(out.out.split("\r\n").filter(Boolean)).to.have.length(3)
    const file = join(folder, "export.ndjson")
    expect(await run(["datasets", "export", "export", "--format", "ndjson", "--output", file])).to.include({ code: 0, out: "", err: "" })
    expect(readFileSync(file, "utf8").trim().split("\n")).to.have.length(2)
    const noise = Array.from({ length: 40 }, () => ({ noise: randomBytes(800).toString("base64") }))
    await run(["datasets", "insert-rows", "export", "--file", "-"], { stdin: JSON.stringify({ rows: noise }) })
    const proxy = await cuttingProxy(host.url)
    try {
      proxy.cutAfter([5_000])
      const cut = await run(["datasets", "export", "export", "--output", join(folder, "cut.csv")], { env: { MILLRACE_URL: proxy.url } })
      expect(cut.code).to.equal(7)
      expect(cut.err).to.include("the response is incomplete")
    } finally {
      await proxy.close()
    }
    expect(readdirSync(folder).filter((name) => name.startsWith("cut.csv"))).to.deep.equal([])
    expect((await run(["datasets", "export", "export", "--output", join(folder, "no/such/folder.csv")])).code).to.equal(1)
  })

  it("say what is wrong field by field, and end with a code for the kind of error", async () => {
    const refused = await run(["datasets", "create", "--name", "", "--slug", "Bad Slug"])
    expect(refused).to.deep.include({ code: 2, out: "" })
    expect(refused.err).to.match(/^The input is not valid \(invalid_argument\)\.\n {2}--name: Too small.*\n {2}--slug: Lower-case/)
    const cases: [string[], number, RegExp, Record<string, string>?][] = [
      [["datasets", "get", "none"], 4, /The organization has no dataset "none"; GET \/v1\/datasets lists them\. \(not_found\)/],
      [["datasets", "create", "--name", "Empty", "--slug", "shown"], 5, /already_exists/],
      [["datasets", "list"], 3, /millrace login/, { MILLRACE_KEY: "mr_api_wrong" }],
      [["datasets", "get"], 2, /^The input is not valid \(invalid_argument\)\.\n {2}<slug>: Required/],
      [["datasets", "create", "--class", "events"], 2, /--name: Required: a string\./],
      [
        ["datasets", "create", "--name", "x", "--class", "tabel"],
        1,
        /--class: "tabel" is not one of table, events\. Did you mean "table"\?/,
      ],
      [["datasets", "list", "--limit", "ten"], 1, /--limit: "ten" is not a number/],
      [["datasets", "list", "--limit", "1.5"], 1, /--limit: "1.5" is not a whole number/],
      [["datasets", "insert-rows", "shown", "--rows", "[{]"], 1, /--rows: \[\{\] is not JSON/],
      [["datasets", "lits"], 1, /Did you mean list/],
      [["datsets", "list"], 1, /Did you mean datasets/],
      [["datasets", "list", "--limti", "1"], 1, /unknown option '--limti'[\s\S]*--limit/],
      [["datasets", "list", "--organization", "nobody"], 4, /not_found/],
    ]
    for (const [args, code, pattern, more = {}] of cases) {
      const ran = await run(args, { env: more })
      expect(ran.code, `${args.join(" ")}: ${ran.err}`).to.equal(code)
      expect(ran.err, args.join(" ")).to.match(pattern)
      expect(ran.out).to.equal("")
      expect(ran.err).to.not.match(/^ {4}at /m)
    }
    const asJson = await run(["datasets", "get", "none", "--json"])
    expect(JSON.parse(asJson.err)).to.include({ code: "not_found" })
    const mistyped = await run(["datasets", "list", "--limit", "ten", "--json"])
    expect(JSON.parse(mistyped.err)).to.deep.include({ code: "invalid_argument", details: { reason: "command_line" } })
    expect(Object.keys(exitCodeOf).sort()).to.deep.equal(Object.keys(httpStatusOf).sort())
  })

  it("act in another organization only where the key may", async () => {
    expect(await json(["me", "get", "--organization", host.organization.slug])).to.deep.include({ role: "owner" })
    expect((await run(["me", "get"], { env: { MILLRACE_ORGANIZATION: "nobody" } })).code).to.equal(4)
  })

  it("end quietly when the reader has seen enough, as a process of their own too", async () => {
    const line = `set -o pipefail; "${process.execPath}" "${join(projectRoot, "core/millrace.js")}" datasets list-rows many --all --json | head -1 | wc -l`
    const { stdout, stderr } = await promisify(execFile)("bash", ["--norc", "-c", line], {
      env: { PATH: process.env["PATH"], ...env() },
      cwd: folder,
    })
    const { out } = await run(["datasets", "list-rows", "many", "--all", "--json"])
    expect([stdout.trim(), stderr], `asked again, the service has ${out.split("\n").length - 1} lines`).to.deep.equal(["1", ""])
    expect(existsSync(join(folder, "data"))).to.equal(false)
  })

  it("say what a header cannot carry, by its option and without the key, and end as for other refused input", async () => {
    const key = await run(["datasets", "list"], { env: { MILLRACE_KEY: "“hunter2”" } })
    expect(key.code).to.equal(2)
    expect(key.err)
      .to.match(/^key: holds .*\(invalid_argument\)/)
      .and.not.include("hunter2")
    const organization = await run(["datasets", "list", "--organization", "☃", "--json"])
    expect(organization.code).to.equal(2)
    expect(JSON.parse(organization.err)).to.deep.include({ code: "invalid_argument" })
  })

  it("print problems of the command line as JSON too where JSON is asked for", async () => {
    for (const [inputs, label] of [
      [["--limit", "abc"], "--limit"],
      [["--nonsense"], "--nonsense"],
    ] as const) {
      const { code, out, err } = await run(["datasets", "list", ...inputs, "--json"])
      expect([code, out]).to.deep.equal([1, ""])
      const report = JSON.parse(err) as { code: string; message: string }
      expect(report.code).to.equal("invalid_argument")
      expect(report.message).to.include(label)
      expect((await run(["datasets", "list", ...inputs])).err).to.not.match(/^\{/)
    }
  })
})
