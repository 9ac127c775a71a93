// A child process of the sandbox as its parent sees it. It starts confined (core/process/confined-child.ts), and gives up
// the rest once its own code is loaded (child/confinement.ts). Frames go in and out.
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

/** The end of a child. `report` is the work in hand of a child that ended itself at the hard deadline. */
export interface Loss extends Exit {
  readonly report: readonly string[] | null
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

/** Transforms see UTC and en-US on any host. */
const environment = { LC_ALL: "en_US.UTF-8", LANG: "en_US.UTF-8" }
/** Isolates run on threads, whose stacks are as large as this allows: eight times as deep a recursion costs fifty times as much. */
const stackKb = 1_280
const here = new URL("./", import.meta.url)
const flags = [
  ...["--no-warnings", "--no-node-snapshot", "--no-experimental-sqlite", "--no-experimental-websocket", "--no-experimental-eventsource"],
  // The one addon is isolated-vm; the permission to load it ends before the first foreign text is in.
  "--allow-addons",
]

let ownFolders: string[] | undefined

/** The folders a child may read: the program itself and the packages it loads. Never the data folder. */
function readable(): string[] {
  const { paths } = createRequire(import.meta.url).resolve
  // As it is looked up, beside its real place: folders of packages may be links.
  const linked = (paths("isolated-vm") ?? []).find((folder) => existsSync(`${folder}/isolated-vm/package.json`))
  // node-gyp-build looks at this file to tell musl from glibc.
  return [fileURLToPath(here), ...(linked === undefined ? [] : [`${linked}/`]), "/etc/alpine-release"]
}

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

  /** Frames sent between the two leave in one write. */
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

/** Of a machine under pressure: what did not start may well start in a moment. */
const passing: ReadonlySet<unknown> = new Set(["EMFILE", "ENFILE", "EAGAIN", "ENOMEM"])
