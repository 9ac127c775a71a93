// Clients of other languages, generated from the OpenAPI document by popular generators, contain each operation. Generators are
// fetched from their registries into a cache.
import { execFile } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { projectRoot } from "../import-graph.ts"

interface Document {
  readonly paths: Record<string, Record<string, { readonly operationId: string }>>
}

const versions = {
  typescript: "5.9.3",
  "openapi-typescript": "7.13.0",
  "openapi-python-client": "0.29.1",
  "openapi-generator-cli": "7.25.0",
}
const cache = join(projectRoot, "node_modules/.cache/millrace/generators")
const central = "https://repo1.maven.org/maven2/org/openapitools/openapi-generator-cli"

describe("clients generated from the OpenAPI document", () => {
  let host: TestHost
  let folder: string
  let file: string
  let operations: string[]
  before(async () => {
    host = await testHost()
    folder = mkdtempSync(join(tmpdir(), "millrace-generated-"))
    file = join(folder, "openapi.json")
    mkdirSync(cache, { recursive: true })
    const document = (await host.api<Document>("GET", "/openapi.json")).body
    operations = Object.values(document.paths).flatMap((item) => Object.values(item).map(({ operationId }) => operationId))
    writeFileSync(file, JSON.stringify(document))
  })
  after(async () => {
    rmSync(folder, { recursive: true, force: true })
    await host.stop()
  })

  it("have every operation by openapi-typescript", async () => {
    const packages = ["typescript", "openapi-typescript"].map((name) => `${name}@${versions[name as keyof typeof versions]}`)
    const command = join(cache, "node_modules/openapi-typescript/bin/cli.js")
    if (!existsSync(command)) await run("npm", ["install", "--prefix", cache, "--no-save", "--no-audit", "--no-fund", ...packages])
    const out = join(folder, "types.d.ts")
    await run(process.execPath, [command, file, "-o", out])
    const text = readFileSync(out, "utf8")
    expect(operations.filter((operation) => !text.includes(`    "${operation}": {`))).to.deep.equal([])
  })

  it("have every operation by openapi-python-client", async function () {
    const command = await pythonClient()
    if (command === undefined) return this.skip()
    const out = join(folder, "python")
    // Without its formatters; they change no operation.
    const config = join(folder, "python.json")
    writeFileSync(config, JSON.stringify({ post_hooks: [] }))
    const { output } = await run(command, ["generate", "--path", file, "--output-path", out, "--meta", "none", "--config", config])
    expect(output).to.not.include("will not be generated")
    const files = readdirSync(join(out, "api"), { recursive: true, encoding: "utf8" })
    expect(files.filter((name) => /^[^/]+\/(?!__init__)\w+\.py$/.test(name))).to.have.length(operations.length)
  })

  for (const { language, generator, files, call } of [
    { language: "TypeScript", generator: "typescript-fetch", files: /^apis\/.*Api\.ts$/, call: /async \w+Raw\(/g },
    { language: "Go", generator: "go", files: /^api_.*\.go$/, call: /Execute\(r Api\w+Request\)/g },
  ]) {
    it(`have every operation by openapi-generator for ${language}`, async function () {
      const jar = await openApiGenerator()
      if (jar === undefined) return this.skip()
      const out = join(folder, generator)
      // The first Java compiler tier is sufficient for a single run.
      await run("java", ["-XX:TieredStopAtLevel=1", "-jar", jar, "generate", "-i", file, "-g", generator, "-o", out])
      const sources = readdirSync(out, { recursive: true, encoding: "utf8" }).filter((name) => files.test(name))
      const calls = sources.flatMap((name) => readFileSync(join(out, name), "utf8").match(call) ?? [])
      expect(calls).to.have.length(operations.length)
    })
  }
})

/** Returns undefined without Python, or if the package cannot be installed. */
async function pythonClient(): Promise<string | undefined> {
  const folder = join(cache, "python")
  const command = join(folder, "bin/openapi-python-client")
  if (existsSync(command)) return command
  const install = async () => {
    await run("python3", ["-m", "venv", folder])
    await run(join(folder, "bin/pip"), ["install", "--quiet", `openapi-python-client==${versions["openapi-python-client"]}`])
    return command
  }
  return await install().catch(() => undefined)
}

/** Returns undefined without Java, or if Maven Central is unreachable. */
async function openApiGenerator(): Promise<string | undefined> {
  const version = versions["openapi-generator-cli"]
  const jar = join(cache, `openapi-generator-cli-${version}.jar`)
  const download = async () => {
    await run("java", ["-version"])
    if (existsSync(jar)) return jar
    const response = await fetch(`${central}/${version}/openapi-generator-cli-${version}.jar`)
    if (!response.ok) return undefined
    writeFileSync(`${jar}.part`, new Uint8Array(await response.arrayBuffer()))
    renameSync(`${jar}.part`, jar)
    return jar
  }
  return await download().catch(() => undefined)
}

function run(command: string, args: readonly string[]): Promise<{ output: string }> {
  return new Promise((resolve, reject) => {
    execFile(command, args, { maxBuffer: 100_000_000 }, (error, stdout, stderr) => {
      const output = stdout + stderr
      if (error) reject(new Error(`${command} ${args[0]} failed: ${output.slice(-2_000)}`, { cause: error }))
      else resolve({ output })
    })
  })
}
