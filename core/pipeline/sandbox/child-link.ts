// One child process of the sandbox as its parent holds it: started under the same Node, with an environment of its own,
// no files but the program's to read and no pipes but its own, and confined once it has read them (child/confinement.ts);
// frames go in and out.
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { existsSync, mkdirSync } from "node:fs"
import { createRequire, getCompileCacheDir } from "node:module"
import { join } from "node:path"
import type { Duplex, Readable } from "node:stream"
import { fileURLToPath } from "node:url"
import { FrameReader, frameOf } from "./wire.ts"

/** Why a child is gone. `report` is what it had in hand when it ended itself at the hard deadline. */
export interface Loss {
  readonly signal: string | null
  readonly exitCode: number | null
  readonly report: readonly string[] | null
  readonly stderr: string
}

export interface ChildProgram {
  readonly entry: URL
  /** Become its arguments. */
  readonly parameters: readonly string[]
  /** What its isolates are made of. */
  readonly bundle: () => Promise<string>
  /** What an earlier child made of the bundle, which this one takes in its place. */
  readonly snapshot?: string | undefined
  /** Folders that it may read until it is confined, besides the sandbox's own. */
  readonly readable?: readonly string[]
}

export interface LinkHandlers {
  /** What it made of the bundle for those that start after it, before any foreign text was in. */
  onSnapshot?(snapshot: string): void
  /** It may be sent work now. `undenied` is what this platform could not take from it, with the reason where there is one. */
  onReady(undenied: readonly string[]): void
  onFrame(parts: string[]): void
  onLost(loss: Loss): void
}

const stderrKept = 4_096
/** A busy machine may take seconds to start a process; without its limit the child is ended. */
const prlimitMs = 20_000
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

/** Transforms see UTC and en-US on any host. */
const environment = "TZ=UTC LC_ALL=en_US.UTF-8 LANG=en_US.UTF-8"
/** Isolates run on threads, whose stacks are as large as this allows: eight times as deep a recursion costs fifty times as much. */
const stackKb = 1_280
const start = `ulimit -s ${stackKb}; exec /usr/bin/env -i ${environment} "$0" "$@"`

let ownFolders: string[] | undefined

/**
 * The folder where children keep what Node compiled of their program, so that the next one starts in two thirds of the
 * time. They write to it before they are confined, and so before any foreign text is in. Beside what the service keeps of
 * its own code, and apart from it; undefined where it keeps none.
 */
function codeCache(): string | undefined {
  const compiled = getCompileCacheDir()
  if (compiled === undefined) return undefined
  const folder = join(compiled, "sandbox")
  try {
    mkdirSync(folder, { recursive: true })
    return folder
  } catch {
    // That of another user, perhaps; a start takes its time then.
    return undefined
  }
}

function nodeFlags(more: readonly string[]): string[] {
  ownFolders ??= readable()
  return [
    ...["--no-warnings", "--no-node-snapshot", "--no-experimental-sqlite", "--no-experimental-websocket", "--no-experimental-eventsource"],
    // The one addon is isolated-vm; the permission to load it ends before the first foreign text is in.
    ...["--permission", "--allow-addons"],
    ...[...ownFolders, ...more].map((path) => `--allow-fs-read=${path}`),
  ]
}

export class ChildLink {
  /** Both are undefined where not even a process could be had. */
  readonly #process: ChildProcess | undefined
  readonly #pipe: Duplex | undefined
  readonly #handlers: LinkHandlers
  #report: string[] | null = null
  #stderr = ""
  #gone = false

  constructor({ entry, parameters, bundle, snapshot, readable = [] }: ChildProgram, handlers: LinkHandlers) {
    this.#handlers = handlers
    const cache = codeCache()
    const flags = nodeFlags(cache === undefined ? readable : [...readable, `${cache}/`])
    const program = [process.execPath, ...flags, fileURLToPath(entry), ...parameters]
    // A variable, as env(1) takes it, and the right to write to the folder.
    const command =
      cache === undefined ? program : [`NODE_COMPILE_CACHE=${cache}`, ...program.toSpliced(1, 0, `--allow-fs-write=${cache}/`)]
    const spawned = this.#spawn(command)
    if (!spawned) return
    const { child, watch } = spawned
    this.#process = child
    this.#pipe = spawned.pipe
    let ready = false
    let limitless: string | undefined
    const frames = new FrameReader((parts) => {
      if (ready) handlers.onFrame(parts)
      else if (parts[0] === "online") {
        if (snapshot === undefined) bundle().then((text) => this.send(["bundle", text]), this.#fail)
        else this.send(["snapshot", snapshot])
      } else if (parts[0] === "loaded") {
        if (parts[1]) handlers.onSnapshot?.(parts[1])
        forbidDescriptors(child.pid ?? 0).then((why) => {
          limitless = why
          this.send(["confine"])
        }, this.#fail)
      } else if (parts[0] === "ready") {
        ready = true
        handlers.onReady(limitless === undefined ? parts.slice(1) : [...parts.slice(1), limitless])
      }
    })
    this.#pipe.on("data", (chunk: Buffer) => frames.push(chunk))
    this.#pipe.on("error", () => this.kill())
    const reports = new FrameReader((parts) => {
      this.#report = parts
    })
    watch.on("data", (chunk: Buffer) => reports.push(chunk))
    watch.on("error", () => this.kill())
    child.stderr?.on("data", (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.toString("utf8")).slice(-stderrKept)
    })
    child.once("error", (error) => {
      this.#stderr += error.message
      if (child.pid === undefined) this.#lost(null, null)
    })
    // "close" comes after the pipes are drained, so every answer of the child has been read.
    child.once("close", (code, signal) => this.#lost(code, signal))
  }

  get pid(): number | undefined {
    return this.#process?.pid
  }

  send(parts: readonly string[]): void {
    if (!this.#gone) this.#pipe?.write(frameOf(parts))
  }

  /** Frames sent between the two leave in one write. */
  cork(): void {
    this.#pipe?.cork()
  }

  uncork(): void {
    this.#pipe?.uncork()
  }

  kill(): void {
    this.#process?.kill("SIGKILL")
  }

  /** undefined, and lost in the next tick, where the system has no process or no descriptors left. */
  #spawn(command: readonly string[]): { child: ChildProcess; pipe: Duplex; watch: Readable } | undefined {
    const lost = (error: Error) => {
      this.#stderr += error.message
      process.nextTick(() => this.#lost(null, null))
    }
    try {
      const child = spawn("/bin/sh", ["-c", start, ...command], {
        cwd: fileURLToPath(new URL("./", import.meta.url)),
        env: {},
        stdio: ["ignore", "ignore", "pipe", "pipe", "pipe"],
      })
      // Without a descriptor for them there are none, despite the types.
      const [, , , pipe, watch] = (child.stdio as ChildProcess["stdio"] | undefined) ?? []
      if (pipe && watch) return { child, pipe: pipe as Duplex, watch: watch as Readable }
      child.once("error", lost)
    } catch (error) {
      lost(error as Error)
    }
    return undefined
  }

  readonly #fail = (error: Error): void => {
    this.#stderr += error.message
    this.kill()
  }

  #lost(exitCode: number | null, signal: string | null): void {
    if (this.#gone) return
    this.#gone = true
    this.#handlers.onLost({ exitCode, signal, report: this.#report, stderr: this.#stderr })
  }
}

/** Of a machine under pressure: what did not start may well start in a moment. */
const passing: ReadonlySet<unknown> = new Set(["EMFILE", "ENFILE", "EAGAIN", "ENOMEM"])

/**
 * Lowers a process's limit of open files to none: what it holds stays, and it gets no file, socket or pipe any more. Node
 * has no call for it; util-linux's prlimit, which every common distribution has, does it from outside. Answers undefined,
 * or why this platform does not do it. Rejects where it would, and did not this time.
 */
function forbidDescriptors(pid: number): Promise<string | undefined> {
  if (process.platform !== "linux") return Promise.resolve(`${process.platform} has no prlimit`)
  return new Promise((resolve, reject) => {
    const options = { timeout: prlimitMs, env: { PATH: process.env["PATH"] } }
    execFile("prlimit", ["--pid", String(pid), "--nofile=0:0"], options, (error) => {
      if (!error) resolve(undefined)
      else if (error.killed || ("code" in error && passing.has(error.code))) reject(error)
      else resolve("code" in error && error.code === "ENOENT" ? "prlimit, of util-linux, is not installed" : error.message.trim())
    })
  })
}
