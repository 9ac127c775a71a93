// A sandbox child process from the parent's side. It starts confined (core/process/confined-child.ts). After it loads its own
// code it drops its remaining rights (child/confinement.ts). Parent and child exchange frames.
import type { ExecFileException } from "node:child_process"
import { existsSync, mkdirSync } from "node:fs"
import { createRequire, getCompileCacheDir } from "node:module"
import { join } from "node:path"
import type { Duplex } from "node:stream"
import { fileURLToPath } from "node:url"
import { throwUncaught } from "../../kernel/promises.ts"
import { ConfinedChild } from "../../process/confined-child.ts"
import type { Exit, KillReason } from "../../process/peer.ts"
import { FrameReader, frameOf } from "./wire.ts"

/** The end of a child. `report` names the current work of a child that ended itself at the hard deadline. */
export interface Loss extends Exit {
  readonly report: readonly string[] | null
}

export interface ChildProgram {
  readonly entry: URL
  /** Passed as arguments of the process. */
  readonly parameters: readonly string[]
  /** Code of its isolates. */
  readonly bundle: () => Promise<string>
  /** Snapshot of the bundle from an earlier child. It replaces the bundle. */
  readonly snapshot?: string | undefined
  /** Additional readable folders until confinement, besides the sandbox's own. */
  readonly readable?: readonly string[]
}

export interface LinkHandlers {
  /** Receives the snapshot of the bundle for later children. The child creates it before any foreign text enters. */
  onSnapshot?(snapshot: string): void
  /** The child accepts work from now on. `undenied` lists the rights that the platform could not remove, with a reason if known. */
  onReady(undenied: readonly string[]): void
  onFrame(parts: string[]): void
  onLost(loss: Loss): void
}

/** Transforms see UTC and en-US on any host. */
const environment = { LC_ALL: "en_US.UTF-8", LANG: "en_US.UTF-8" }
/** This also limits the stacks of isolate threads. Recursion eight times as deep would cost fifty times as much. */
const stackKb = 1_280
const here = new URL("./", import.meta.url)
const flags = [
  ...["--no-warnings", "--no-node-snapshot", "--no-experimental-sqlite", "--no-experimental-websocket", "--no-experimental-eventsource"],
  // isolated-vm is the only addon. The permission to load it ends before any foreign text enters.
  "--allow-addons",
]

let ownFolders: string[] | undefined

/** Returns the readable folders of a child: the program itself and its packages. The data folder is never readable. */
function readable(): string[] {
  const { paths } = createRequire(import.meta.url).resolve
  // Includes the path before links are resolved, because package folders may be links.
  const linked = (paths("isolated-vm") ?? []).find((folder) => existsSync(`${folder}/isolated-vm/package.json`))
  // node-gyp-build reads this file to distinguish musl from glibc.
  return [fileURLToPath(here), ...(linked === undefined ? [] : [`${linked}/`]), "/etc/alpine-release"]
}

/**
 * Returns the folder for children's compiled code. With it the next child starts in two thirds of the time. Children write to it
 * before confinement, and so before any foreign text enters. It is separate from the service's own code cache. Returns undefined
 * if the service has no code cache.
 */
function codeCache(): string | undefined {
  const compiled = getCompileCacheDir()
  if (compiled === undefined) return undefined
  const folder = join(compiled, "sandbox")
  try {
    mkdirSync(folder, { recursive: true })
    return folder
  } catch {
    // The folder may belong to another user. Children then start without the cache.
    return undefined
  }
}

export class ChildLink {
  readonly #child: ConfinedChild
  readonly #pipe: Duplex | undefined
  #report: string[] | null = null
  #gone = false

  constructor({ entry, parameters, bundle, snapshot, readable: more = [] }: ChildProgram, handlers: LinkHandlers) {
    ownFolders ??= readable()
    this.#child = new ConfinedChild({
      name: "sandbox process",
      main: entry,
      flags,
      parameters,
      env: environment,
      limits: { stackKb },
      files: { read: [...ownFolders, ...more], packages: ["isolated-vm"] },
      codeCache: codeCache(),
      cwd: fileURLToPath(here),
      stdio: ["ignore", "ignore", "pipe", "pipe", "pipe"],
    })
    this.#pipe = this.#child.pipe(3)
    const fail = (error: Error) => this.#child.fail(error)
    let ready = false
    let limitless: string | undefined
    const frames = new FrameReader((parts) => {
      if (ready) handlers.onFrame(parts)
      else if (parts[0] === "online") {
        if (snapshot === undefined) bundle().then((text) => this.send(["bundle", text]), fail)
        else this.send(["snapshot", snapshot])
      } else if (parts[0] === "loaded") {
        if (parts[1]) handlers.onSnapshot?.(parts[1])
        this.#denyDescriptors().then((why) => {
          limitless = why
          this.send(["confine"])
        }, fail)
      } else if (parts[0] === "ready") {
        ready = true
        handlers.onReady(limitless === undefined ? parts.slice(1) : [...parts.slice(1), limitless])
      }
    })
    this.#read(3, frames)
    this.#read(
      4,
      new FrameReader((parts) => {
        this.#report = parts
      }),
    )
    this.#child.ended
      .then((exit) => {
        this.#gone = true
        handlers.onLost({ ...exit, report: this.#report })
      })
      .catch(throwUncaught)
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  send(parts: readonly string[]): void {
    if (!this.#gone) this.#pipe?.write(frameOf(parts))
  }

  /** Sends all frames between `cork` and `uncork` in a single write. */
  cork(): void {
    this.#pipe?.cork()
  }

  uncork(): void {
    this.#pipe?.uncork()
  }

  kill(reason?: KillReason): void {
    this.#child.kill(reason)
  }

  stop(): Promise<void> {
    return this.#child.stop()
  }

  #read(descriptor: number, frames: FrameReader): void {
    const pipe = this.#child.pipe(descriptor)
    pipe?.on("data", (chunk: Buffer) => frames.push(chunk))
    pipe?.on("error", () => this.kill())
  }

  /** Returns the reason if the platform does not deny descriptors. Throws if a retry can deny them. */
  #denyDescriptors(): Promise<string | undefined> {
    return this.#child.denyDescriptors().catch((error: ExecFileException) => {
      if (error.killed || passing.has(error.code)) throw error
      return error.message.trim()
    })
  }
}

/** Errors of a machine under pressure. A retry may succeed. */
const passing: ReadonlySet<unknown> = new Set(["EMFILE", "ENFILE", "EAGAIN", "ENOMEM"])
