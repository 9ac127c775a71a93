// A confined child process: native code and foreign documents run in it, so an error, a leak or a break-in stays in it.
// - Its environment holds only the listed variables. The environment of the service holds secrets.
// - The kernel limits its memory, stack and processor time. An allocation beyond the limit fails inside the child.
// - A core dump would store foreign data, so the child cannot write one.
// - Node's permissions let a child with `files` read and write only these folders, without addons, threads and children.
// - `denyDescriptors` ends access to files and the network in the kernel, before foreign text enters.
// - The service measures its memory, counts its time and kills it. The child cannot prevent a kill.
import { type ChildProcess, execFile, type IOType, spawn } from "node:child_process"
import type { Duplex } from "node:stream"
import { fileURLToPath } from "node:url"
import { type Clock, systemClock } from "../kernel/clock.ts"
import { throwUncaught } from "../kernel/defect.ts"
import { groupBytes, residentBytes } from "./memory.ts"
import { type OnMessage, Peer } from "./peer.ts"

export interface ChildProgram {
  /** For messages: "query process". */
  readonly name: string
  readonly main: URL
  /** Flags of Node. */
  readonly flags?: readonly string[]
  readonly parameters?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly limits?: ChildLimits
  /** Paths for Node's permissions. Without them the child has the permissions of the service's user. */
  readonly files?: { readonly read: readonly string[]; readonly write?: readonly string[] }
  readonly cwd?: string
  /** Default: error output, and the channel of messages. */
  readonly stdio?: readonly IOType[]
  /** Starts a group of processes, which is measured and killed as a whole. */
  readonly ownGroup?: boolean
  readonly onMessage?: OnMessage
}

/** Limits of the kernel. Only Linux has all of them. */
export interface ChildLimits {
  readonly stackKb?: number
  readonly dataMb?: number
  readonly cpuSeconds?: number
}

const keptStderr = 4_096
/** A busy machine can need seconds for the start of a process. */
const prlimitMs = 20_000

/** A child process under limits. It answers requests over its channel, or uses the pipes of its program. */
export class ConfinedChild extends Peer {
  readonly #ownGroup: boolean
  /** Undefined if the system has no process left. */
  readonly #child: ChildProcess | undefined
  #stderr = ""

  constructor(program: ChildProgram) {
    super(program.name, program.onMessage)
    this.#ownGroup = program.ownGroup ?? false
    try {
      this.#child = spawned(program)
    } catch (error) {
      process.nextTick(() => this.#fail(error as Error))
      return
    }
    this.#child.once("error", (error) => this.#fail(error))
    this.#child.on("message", (message) => this.received(message))
    this.#child.stderr?.on("data", (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.toString("utf8")).slice(-keptStderr)
    })
    // After "close" all pipes are drained: every answer was read.
    this.#child.once("close", (code, signal) => this.lost({ code, signal, stderr: this.#stderr, cause: undefined }))
  }

  override get isAlive(): boolean {
    return super.isAlive && this.#child?.exitCode === null && this.#child.signalCode === null
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** Returns undefined if the system had no descriptor left for the pipe. */
  pipe(descriptor: number): Duplex | undefined {
    const stdio = this.#child?.stdio as readonly (Duplex | undefined)[] | undefined
    return stdio?.[descriptor]
  }

  send(message: object): void {
    this.#child?.send(message, (error) => error && this.kill())
  }

  /** Kills the child if its resident memory exceeds the limit. Returns a function that ends the watch. */
  watchMemory(maxBytes: number, pollMs: number, clock: Clock = systemClock): () => void {
    const { pid } = this
    if (process.platform !== "linux" || pid === undefined) return () => undefined
    let isOver = false
    let cancel = () => {}
    const look = () => {
      const measured = this.#ownGroup ? groupBytes(pid) : residentBytes(pid)
      measured
        .then((bytes) => {
          if (isOver) return
          if (bytes > maxBytes) this.kill("memory")
          else cancel = clock.after(pollMs, look)
        })
        .catch(throwUncaught)
    }
    look()
    return () => {
      isOver = true
      cancel()
    }
  }

  /**
   * Lowers the child's limit of open files to 0. Open descriptors stay open. Returns the reason if the platform has no
   * prlimit (util-linux). Throws the error of prlimit.
   */
  denyDescriptors(timeoutMs = prlimitMs): Promise<string | undefined> {
    if (process.platform !== "linux") return Promise.resolve(`${process.platform} has no prlimit`)
    return new Promise((resolve, reject) => {
      const options = { timeout: timeoutMs, env: { PATH: process.env["PATH"] } }
      execFile("prlimit", ["--pid", String(this.pid ?? 0), "--nofile=0:0"], options, (error) => {
        if (!error) resolve(undefined)
        else if ("code" in error && error.code === "ENOENT") resolve("prlimit, of util-linux, is not installed")
        else reject(error)
      })
    })
  }

  protected end(): void {
    if (!this.#ownGroup) this.#child?.kill("SIGKILL")
    else if (this.pid !== undefined) killGroup(this.pid)
  }

  #fail(error: Error): void {
    this.#stderr += error.message
    if (this.pid === undefined) this.lost({ code: null, signal: null, stderr: this.#stderr, cause: error })
  }
}

function spawned({ main, flags = [], parameters = [], ...program }: ChildProgram): ChildProcess {
  const { files } = program
  const variables = Object.entries({ TZ: "UTC", ...program.env }).map(([name, value]) => `${name}=${value}`)
  const permissions = files && [
    "--permission",
    ...files.read.map((path) => `--allow-fs-read=${path}`),
    ...(files.write ?? []).map((path) => `--allow-fs-write=${path}`),
  ]
  const node = [process.execPath, ...flags, ...(permissions ?? []), fileURLToPath(main), ...parameters]
  return spawn("/bin/sh", ["-c", `${ulimits(program.limits)} ${start}`, ...variables, ...node], {
    env: {},
    cwd: program.cwd,
    detached: program.ownGroup ?? false,
    stdio: [...(program.stdio ?? ["ignore", "ignore", "pipe", "ipc"])] as IOType[],
  })
}

/** The shell adds variables of its own, and Node the descriptor of the channel. */
const start = `exec /usr/bin/env -i \${NODE_CHANNEL_FD:+"NODE_CHANNEL_FD=$NODE_CHANNEL_FD"} "$0" "$@"`

/** One call for each limit: dash accepts one limit in a call. */
function ulimits({ stackKb, dataMb, cpuSeconds }: ChildLimits = {}): string {
  const linux = { c: 0, d: dataMb && dataMb * 1_024, t: cpuSeconds }
  const limits = { s: stackKb, ...(process.platform === "linux" ? linux : {}) }
  return Object.entries(limits)
    .map(([flag, value]) => (value === undefined ? "" : `ulimit -${flag} ${value};`))
    .join(" ")
}

function killGroup(group: number): void {
  try {
    process.kill(-group, "SIGKILL")
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error
  }
}
