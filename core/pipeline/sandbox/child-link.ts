// One child process of the sandbox as its parent holds it: started under the same Node, with an environment of its own,
// no files but the program's to read and no pipes but its own; frames go in and out.
import { type ChildProcess, spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { createRequire } from "node:module"
import type { Duplex, Readable } from "node:stream"
import { fileURLToPath } from "node:url"
import { FrameReader, frameOf } from "./wire.ts"

/** Why a child is gone. `report` is what its watching thread said before it pulled the plug. */
export interface Loss {
  readonly signal: string | null
  readonly exitCode: number | null
  readonly report: readonly string[] | null
  readonly stderr: string
}

export interface LinkHandlers {
  onFrame(parts: string[]): void
  onLost(loss: Loss): void
}

const stderrKept = 4_096
const require = createRequire(import.meta.url)

/** The folders a child may read: the program itself and the packages it loads. Never the data folder. */
function readable(): string[] {
  const here = fileURLToPath(new URL("./", import.meta.url))
  const project = fileURLToPath(new URL("../../../package.json", import.meta.url))
  const packages = new Set<string>()
  for (const name of ["isolated-vm"]) {
    // As it is looked up and as it really lies: folders of packages may be links.
    const folder = (require.resolve.paths(name) ?? []).find((candidate) => existsSync(`${candidate}/${name}/package.json`))
    if (folder !== undefined) packages.add(`${folder}/`)
    const path = require.resolve(`${name}/package.json`)
    packages.add(path.slice(0, path.lastIndexOf("node_modules") + "node_modules/".length))
  }
  // node-gyp-build looks at this file to tell musl from glibc.
  return [here, project, ...packages, "/etc/alpine-release"]
}

let flags: string[] | undefined

function nodeFlags(): string[] {
  flags ??= [
    "--no-warnings",
    "--no-node-snapshot",
    "--permission",
    "--allow-addons",
    "--allow-worker",
    ...readable().map((path) => `--allow-fs-read=${path}`),
  ]
  return flags
}

export class ChildLink {
  readonly #process: ChildProcess
  readonly #pipe: Duplex
  readonly #handlers: LinkHandlers
  #report: string[] | null = null
  #stderr = ""
  #gone = false

  /** `entry` is a file under child/; `parameters` become its arguments. */
  constructor(entry: string, parameters: readonly string[], handlers: LinkHandlers) {
    this.#handlers = handlers
    const file = fileURLToPath(new URL(`./child/${entry}`, import.meta.url))
    this.#process = spawn(process.execPath, [...nodeFlags(), file, ...parameters], {
      cwd: fileURLToPath(new URL("./", import.meta.url)),
      // Transforms see UTC and en-US whatever the host speaks.
      env: { TZ: "UTC", LC_ALL: "en_US.UTF-8", LANG: "en_US.UTF-8" },
      stdio: ["ignore", "ignore", "pipe", "pipe", "pipe"],
    })
    this.#pipe = this.#process.stdio[3] as Duplex
    const watch = this.#process.stdio[4] as Readable
    const frames = new FrameReader((parts) => handlers.onFrame(parts))
    this.#pipe.on("data", (chunk: Buffer) => frames.push(chunk))
    this.#pipe.on("error", () => this.kill())
    const reports = new FrameReader((parts) => {
      this.#report = parts
    })
    watch.on("data", (chunk: Buffer) => reports.push(chunk))
    watch.on("error", () => this.kill())
    this.#process.stderr?.on("data", (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.toString("utf8")).slice(-stderrKept)
    })
    this.#process.once("error", (error) => {
      this.#stderr += error.message
      if (this.#process.pid === undefined) this.#lost(null, null)
    })
    // "close" comes after the pipes are drained: every answer the child got out is in by then.
    this.#process.once("close", (code, signal) => this.#lost(code, signal))
  }

  get pid(): number | undefined {
    return this.#process.pid
  }

  send(parts: readonly string[]): void {
    if (!this.#gone) this.#pipe.write(frameOf(parts))
  }

  /** Frames sent between the two leave in one write. */
  cork(): void {
    this.#pipe.cork()
  }

  uncork(): void {
    this.#pipe.uncork()
  }

  /** `why` becomes the last of what the loss says of its stderr. */
  kill(why = ""): void {
    if (why !== "") this.#stderr += `\n${why}`
    this.#process.kill("SIGKILL")
  }

  #lost(exitCode: number | null, signal: string | null): void {
    if (this.#gone) return
    this.#gone = true
    this.#handlers.onLost({ exitCode, signal, report: this.#report, stderr: this.#stderr })
  }
}
