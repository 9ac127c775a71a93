// Follows a page as a reader would, in its own project: writes the files on the page, runs its commands in order, and compares
// their output with the page.
import { type ChildProcess, spawn } from "node:child_process"
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, relative } from "node:path"
import { projectRoot } from "../import-graph.ts"
import { finished, outputUntil } from "../processes.ts"
import { CommandServer } from "./command-server.ts"
import { type Block, isAsShown, type Page } from "./page.ts"

/** Address of the service on pages. */
const exampleAddress = "127.0.0.1:8080"

export class Reader {
  /** Folder of the project. */
  readonly folder: string
  readonly #root = mkdtempSync(join(tmpdir(), "millrace-docs-"))
  readonly #env: NodeJS.ProcessEnv
  readonly #commands: CommandServer
  #cwd: string
  #service: ChildProcess | undefined
  #address = exampleAddress
  /** Output of the last command. */
  #output = ""

  /** `withSample`: the project contains the files of a new project, as after `millrace init`. */
  constructor({ withSample = false }: { readonly withSample?: boolean } = {}) {
    this.folder = join(this.#root, "leads")
    this.#cwd = this.folder
    makeProject(this.folder)
    if (withSample) for (const part of ["pipelines", "plugins", "config"]) copySample(this.folder, part)
    const bin = join(this.#root, "bin")
    this.#commands = new CommandServer(this.#root)
    makeCommands(bin, this.#commands.command)
    const PATH = [bin, dirname(process.execPath), process.env["PATH"]].join(":")
    this.#env = { PATH, HOME: this.#root, NO_COLOR: "1", PORT: "0", STATE: join(this.#root, "state") }
  }

  /** Throws at the first block with another result than on the page. */
  async follow({ path, blocks }: Page): Promise<void> {
    for (const block of blocks) {
      try {
        await this.#take(block)
      } catch (error) {
        throw new Error(`${path}:${block.line}: ${(error as Error).message}`)
      }
    }
  }

  /** Runs a script that is not on the page. Returns its output. Throws if it fails. */
  async run(script: string): Promise<string> {
    // Variables and the folder persist between blocks, as in a terminal, exported or not.
    const stored = `set -euo pipefail; [ ! -f "$STATE" ] || . "$STATE"\n${script}\ndeclare -p | grep -v "^declare -[^ ]*r" > "$STATE"; pwd > "$STATE.cwd"; cat "$STATE.cwd" >&3`
    const child = spawn("bash", ["-c", stored], { cwd: this.#cwd, env: this.#env, stdio: ["ignore", "pipe", "pipe", "pipe"] })
    let cwd = ""
    child.stdio[3]?.on("data", (chunk: Buffer) => {
      cwd += chunk.toString()
    })
    const { code, output } = await finished(child)
    if (code !== 0) throw new Error(`It ended with ${code}:\n${output}`)
    this.#cwd = cwd.trim() || this.#cwd
    return output
  }

  async close(): Promise<void> {
    await this.#stopService()
    this.#commands.close()
    rmSync(this.#root, { recursive: true, force: true })
  }

  async #take({ language, text, file }: Block): Promise<void> {
    if (file !== undefined && language !== "sh") return this.#write(file, text)
    if (language === "sh") return this.#command(text)
    if (language === "text" && this.#output !== "") {
      if (!isAsShown(this.#output, text)) throw new Error(`It said something else:\n${this.#output}`)
      return
    }
    throw new Error(`A block of ${language || "no language"} that nothing is done with: name its file, or make it the output of a command.`)
  }

  #write(file: string, text: string): void {
    const path = join(this.folder, file)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text.replaceAll(exampleAddress, this.#address))
    this.#output = ""
  }

  async #command(text: string): Promise<void> {
    const script = text.replaceAll(exampleAddress, this.#address)
    if (/^npm (start|run dev)\b/.test(script)) this.#output = await this.#startService(script)
    else if (/^# Ctrl-C\b/.test(script)) await this.#stopService()
    else this.#output = await this.run(script)
  }

  async #startService(script: string): Promise<string> {
    await this.#stopService()
    const exported = `[ ! -f "$STATE" ] || . "$STATE"; exec ${script}`
    this.#service = spawn("bash", ["-c", exported], { cwd: this.#cwd, env: this.#env })
    const message = await outputUntil(this.#service, /http:\/\/127\.0\.0\.1:\d+\D/)
    this.#address = /127\.0\.0\.1:\d+/.exec(message)?.[0] ?? exampleAddress
    return message
  }

  async #stopService(): Promise<void> {
    const service = this.#service
    if (!service) return
    this.#service = undefined
    const ended = new Promise((resolve) => service.once("close", resolve))
    service.kill("SIGTERM")
    await ended
  }
}

/** Makes a project as after `millrace init` and `npm install`, with linked packages. */
function makeProject(folder: string): void {
  mkdirSync(join(folder, "pipelines"), { recursive: true })
  const modules = join(folder, "node_modules")
  mkdirSync(join(modules, "millrace"), { recursive: true })
  const own = join(projectRoot, "node_modules")
  for (const name of readdirSync(own)) if (!name.startsWith(".") && name !== "millrace") symlinkSync(join(own, name), join(modules, name))
  const entryPoints = { ".": "core/index.ts", "./testing": "core/testing.ts", "./client": "client/index.ts", "./live": "client/live.ts" }
  const exports = Object.fromEntries(
    Object.keys(entryPoints).map((entryPoint) => [entryPoint, `./${entryPoint === "." ? "index" : entryPoint.slice(2)}.js`]),
  )
  for (const [entryPoint, source] of Object.entries(entryPoints)) {
    const file = join(modules, "millrace", entryPoint === "." ? "index" : entryPoint.slice(2))
    for (const ending of [".js", ".d.ts"]) writeFileSync(file + ending, `export * from ${JSON.stringify(join(projectRoot, source))}\n`)
  }
  writeFileSync(join(modules, "millrace/package.json"), JSON.stringify({ name: "millrace", type: "module", exports }))
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "leads", type: "module", dependencies: { millrace: "*" } }))
  writeFileSync(join(folder, ".mocharc.yaml"), "extension: [ts]\ntimeout: 600000\nreporter: spec\n")
  // The package is sources here; without a build info, each run of tsc would check them again.
  const compilerOptions = { incremental: true, tsBuildInfoFile: "node_modules/.cache/tsc.tsbuildinfo" }
  const tsconfig = { extends: join(projectRoot, "tsconfig.json"), compilerOptions, include: ["*.ts", "plugins", "test"] }
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(tsconfig))
}

function copySample(folder: string, part: string): void {
  const from = join(projectRoot, "templates/project", part)
  for (const name of readdirSync(from, { recursive: true, withFileTypes: true })) {
    if (!name.isFile()) continue
    const file = join(name.parentPath, name.name)
    const target = join(folder, part, relative(from, file))
    mkdirSync(dirname(target), { recursive: true })
    // A project uses the package's name instead of #core.
    writeFileSync(target, readFileSync(file, "utf8").replaceAll('"#core', '"millrace'))
  }
}

/** Creates `npx` and `npm` commands for the project. Multiple type checkers would repeat much of the same work. */
function makeCommands(folder: string, millrace: string): void {
  mkdirSync(folder)
  const npx = `case "$1" in
  millrace) shift; exec ${millrace} "$@" ;;
  tsc) shift; exec ${join(projectRoot, "node_modules/.bin/tsc")} --checkers 1 "$@" ;;
  *) tool="$1"; shift; exec ${join(projectRoot, "node_modules/.bin")}/"$tool" "$@" ;;
esac`
  const npm = `case "$*" in
  start) exec node ${join(projectRoot, "core/start.js")} ;;
  "run dev") exec node ${join(projectRoot, "core/millrace.js")} dev ;;
  *) echo "The pages' tests have no npm $*." >&2; exit 1 ;;
esac`
  for (const [name, body] of Object.entries({ npx, npm })) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${body}\n`)
    chmodSync(join(folder, name), 0o755)
  }
}
