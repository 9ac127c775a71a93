// Layered configuration: precedence, sources of values, and all errors in one report.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { BootError, type LoadedConfig, loadConfig, variableFor } from "../../core/kernel/config.ts"
import { leaves } from "../../core/kernel/config-tree.ts"
import { projectRoot } from "../import-graph.ts"

const defaults = join(projectRoot, "config/default.yaml")

describe("configuration", () => {
  let folder: string
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "millrace-config-"))
  })
  after(() => rmSync(folder, { recursive: true }))

  function load(yaml: string | undefined, env: NodeJS.ProcessEnv = {}): LoadedConfig {
    const file = join(folder, "own.yaml")
    if (yaml !== undefined) writeFileSync(file, yaml)
    return loadConfig({ defaults, env: { ...(yaml === undefined ? {} : { MILLRACE_CONFIG: file }), ...env } })
  }

  function problems(yaml: string | undefined, env: NodeJS.ProcessEnv = {}): readonly string[] {
    try {
      load(yaml, env)
    } catch (error) {
      if (error instanceof BootError) return error.problems
      throw error
    }
    throw new Error("It was accepted.")
  }

  it("holds the defaults when nobody says otherwise, each with the file it came from", () => {
    const { config, origins } = load(undefined)
    expect(config.server).to.deep.include({ host: "127.0.0.1", port: 8080, public_url: null })
    expect(new Set(origins.values())).to.deep.equal(new Set([defaults]))
  })

  it("lets the file win over the defaults and variables over the file, leaving neighbours alone", () => {
    const { config, origins } = load("server: { port: 1000, host: 0.0.0.0 }", { PORT: "2000" })
    expect(config.server).to.deep.include({ host: "0.0.0.0", port: 2000, drain_ms: 10_000 })
    expect(origins.get("server.port")).to.equal("variable PORT")
    expect(origins.get("server.host")).to.equal(join(folder, "own.yaml"))
    expect(origins.get("server.drain_ms")).to.equal(defaults)
  })

  it("takes a project's config/millrace.yaml where there is one and no other file is named", () => {
    const project = join(folder, "project")
    expect(loadConfig({ defaults, project, env: {} }).config.server.port).to.equal(8080)
    mkdirSync(join(project, "config"), { recursive: true })
    writeFileSync(join(project, "config/millrace.yaml"), "server: { port: 1001 }")
    const { config, origins } = loadConfig({ defaults, project, env: {} })
    expect(config.server.port).to.equal(1001)
    expect(origins.get("server.port")).to.match(/project\/config\/millrace\.yaml$/)
    expect(loadConfig({ defaults, project, env: { PORT: "1002" } }).config.server.port).to.equal(1002)
    writeFileSync(join(folder, "own.yaml"), "server: { port: 1003 }")
    expect(loadConfig({ defaults, project, env: { MILLRACE_CONFIG: join(folder, "own.yaml") } }).config.server.port).to.equal(1003)
  })

  it("has a variable for every setting, and takes each", () => {
    const { config } = load(undefined)
    const paths = leaves(config)
    expect(paths).to.include.members(["server.port", "storage.url"])
    for (const path of paths) {
      const value = path.split(".").reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], config)
      const text = Array.isArray(value) ? value.join(",") : typeof value === "object" ? JSON.stringify(value) : String(value)
      if (value === null || text === "") continue
      const name = variableFor(path)
      expect(load(undefined, { [name]: text }).config, name).to.deep.equal(config)
      expect(load(undefined, { [name]: text }).origins.get(path), name).to.equal(`variable ${name}`)
    }
  })

  it("reads PORT, HOST and the MILLRACE_ names as numbers, lists, sections and text", () => {
    const { config } = load(undefined, {
      PORT: "0",
      HOST: "::1",
      MILLRACE_PUBLIC_URL: "https://in.example.com",
      MILLRACE_TRUST_PROXY: "10.0.0.0/8, ::1",
      MILLRACE_INBOUND_MAX_BODY_BYTES: "2048",
      MILLRACE_PLUGINS_SETTINGS: '{"email":{"footer":"Acme"}}',
      MILLRACE_DATA_DIR: "12",
      MILLRACE_STORAGE_URL: "",
      OTHER_PORT: "7",
    })
    expect(config.server).to.deep.include({
      port: 0,
      host: "::1",
      public_url: "https://in.example.com",
      trust_proxy: ["10.0.0.0/8", "::1"],
    })
    expect(config.inbound.max_body_bytes).to.equal(2048)
    expect(config.plugins.settings).to.deep.equal({ email: { footer: "Acme" } })
    expect(config.data_dir).to.equal("12")
    expect(config.storage.url).to.equal(null)
  })

  it("takes a value from the variable that a file names, and refuses one that is not set", () => {
    const yaml = "plugins: { settings: { email: { url: { from_env: SMTP_URL } } } }"
    const { config, origins } = load(yaml, { SMTP_URL: "smtp://u:p@mail" })
    expect(config.plugins.settings).to.deep.equal({ email: { url: "smtp://u:p@mail" } })
    expect(origins.get("plugins.settings.email.url")).to.match(/own\.yaml, from_env SMTP_URL$/)
    expect(problems(yaml)).to.have.length(1)
    expect(problems(yaml)[0]).to.match(/plugins\.settings\.email\.url .*SMTP_URL, which is not set/)
  })

  it("guesses what was meant by an unknown key or variable", () => {
    expect(problems("server: { prot: 1 }")).to.deep.equal([
      `server.prot (from ${join(folder, "own.yaml")}) is not a setting. Did you mean "port"?`,
    ])
    expect(problems("inbuond: {}")[0]).to.match(/^inbuond .* Did you mean "inbound"\?$/)
    expect(problems(undefined, { MILLRACE_INBOUND_MAX_BODY_BYTE: "1" })).to.deep.equal([
      'The variable MILLRACE_INBOUND_MAX_BODY_BYTE does not name a setting. Did you mean "MILLRACE_INBOUND_MAX_BODY_BYTES"?',
    ])
    expect(problems("zzz: 1")[0]).to.not.include("Did you mean")
  })

  it("refuses numbers out of range, with the name, the value and the range", () => {
    const cases: readonly (readonly [path: string, value: number, range: RegExp])[] = [
      ["live.keep_messages", 10_001, /10000/],
      ["live.keep_ms", 1e14, /31622400000/],
      ["jobs.concurrency", 10_002, /1000/],
      ["jobs.poll_ms", 0, /10/],
      ["jobs.poll_ms", 2_147_483_648, /3600000/],
      ["jobs.lease_ms", 0, /100/],
      ["server.drain_ms", 2_147_483_648, /3600000/],
      ["server.leave_ms", 2_147_483_648, /3600000/],
      ["outgoing.timeout_ms", 0, /10/],
      ["outgoing.timeout_ms", 2_147_483_648, /3600000/],
      ["outgoing.max_response_bytes", 1e12, /268435456/],
      ["inbound.max_body_bytes", 1e12, /268435456/],
      ["retention.entries_days", 1e9, /36500/],
      ["retention.payloads_days", 1e9, /36500/],
    ]
    for (const [path, value, range] of cases) {
      const matches = problems(undefined, { [variableFor(path)]: String(value) })
      expect(matches, path).to.have.length(1)
      expect(matches[0], path)
        .to.include(`${path} (from variable ${variableFor(path)}) cannot be ${value}: `)
        .and.match(range)
    }
    expect(load(undefined, { MILLRACE_LIVE_KEEP_MESSAGES: "10000" }).config.live.keep_messages).to.equal(10_000)
  })

  it("refuses numbers that cannot work together", () => {
    const deadline = problems(undefined, { MILLRACE_SANDBOX_TIMEOUT_MS: "5000" })
    expect(deadline).to.deep.equal([
      `sandbox.hard_deadline_ms (from ${defaults}) cannot be 250: Must be at least sandbox.timeout_ms, which is 5000.`,
    ])
    expect(problems(undefined, { MILLRACE_SANDBOX_MEMORY_MB: "512" })[0]).to.match(/^sandbox\.max_process_mb .* cannot be 384: /)
    const mongodb = { MILLRACE_STORAGE_URL: "mongodb://127.0.0.1/millrace", MILLRACE_INBOUND_MAX_BODY_BYTES: "20000000" }
    expect(problems(undefined, mongodb)[0]).to.match(/^inbound\.max_body_bytes .* cannot be 20000000: .* 10485760 with MongoDB/)
  })

  it("refuses origins that no browser sends", () => {
    for (const origin of ["app.example.com", "https://app.example.com/", "https://APP.example.com", "https://app.example.com/a"])
      expect(problems(undefined, { MILLRACE_SERVER_CORS_ORIGINS: origin })[0], origin).to.include("server.cors_origins.0")
    const { server } = load(undefined, { MILLRACE_SERVER_CORS_ORIGINS: "http://localhost:5173,chrome-extension://abc" }).config
    expect(server.cors_origins).to.have.length(2)
  })

  it("tells everything that is wrong at once: where it stands, where it came from, and what it holds", () => {
    const reports = problems("sandbox: { processes: 0 }\nlog: { level: loud }\nlive: 3\n", {
      PORT: "eighty",
      MILLRACE_TRUST_PROXY: "10.0.0.0/99,localhost",
      MILLRACE_PUBLIC_URL: "ftp://x",
      MILLRACE_LIVE_KEEP_MS: "5",
    })
    const file = join(folder, "own.yaml")
    for (const expected of [
      'server.port (from variable PORT) cannot be "eighty": ',
      'server.public_url (from variable MILLRACE_PUBLIC_URL) cannot be "ftp://x": ',
      'server.trust_proxy.0 (from variable MILLRACE_TRUST_PROXY) cannot be "10.0.0.0/99": ',
      'server.trust_proxy.1 (from variable MILLRACE_TRUST_PROXY) cannot be "localhost": ',
      `sandbox.processes (from ${file}) cannot be 0: `,
      `log.level (from ${file}) cannot be "loud": `,
      `live (from ${file}) cannot be 3: `,
    ]) {
      expect(
        reports.some((problem) => problem.startsWith(expected)),
        `${expected}\n${reports.join("\n")}`,
      ).to.equal(true)
    }
    expect(reports).to.have.length(7)
  })

  it("never repeats a secret in a refusal", () => {
    const reports = problems("master_key: [hunter2]\nplugins: { settings: [ { password: hunter2 } ] }")
    expect(reports).to.have.length(2)
    expect(reports.join()).to.include("master_key").and.not.include("hunter2")
  })

  it("refuses a file that is missing, is not YAML, or is not an object of sections", () => {
    expect(problems(undefined, { MILLRACE_CONFIG: join(folder, "none.yaml") })[0]).to.match(/none\.yaml does not exist/)
    expect(problems("server: { port: 1")[0]).to.match(/own\.yaml: .*line/)
    expect(problems("server: { port: 1 }\nserver: { port: 2 }")[0]).to.match(/own\.yaml: .*unique/)
    expect(problems("- a")[0]).to.match(/not a list/)
    expect(problems("text")[0]).to.match(/not a string/)
    expect(load("").config.server.port).to.equal(8080)
  })

  it("takes keys named like an object's own parts for the unknown settings that they are", () => {
    expect(problems("__proto__: { port: 1 }\nconstructor: 1").join())
      .to.match(/__proto__ .*not a setting/)
      .and.match(/constructor .*not a setting/)
    expect(({} as { port?: number }).port).to.equal(undefined)
  })
})
