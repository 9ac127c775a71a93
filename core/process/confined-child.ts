// A confined child process: native code and foreign documents run in it, so an error, a leak or a break-in stays in it.
// - Its environment holds only the listed variables. The environment of the service holds secrets.
// - The kernel limits its memory, stack and processor time. An allocation beyond the limit fails inside the child.
// - A core dump would store foreign data, so the child cannot write one.
// - Node's permissions let a child with `files` read and write only these folders, without addons, threads and children.
// - `denyDescriptors` ends access to files and the network in the kernel, before foreign text enters.
// - The service measures its memory, counts its time and kills it. The child cannot prevent a kill.
import { type ChildProcess, execFile, type IOType, spawn } from "node:child_process"
import { readdir, readFile } from "node:fs/promises"
import { createRequire } from "node:module"
import type { Duplex } from "node:stream"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { type Clock, sleep, systemClock } from "../kernel/clock.ts"
import { throwUncaught } from "../kernel/promises.ts"
import { Peer, type PeerProgram } from "./peer.ts"

export interface ChildProgram extends PeerProgram {
  /** Flags of Node. */
  readonly flags?: readonly string[]
  readonly parameters?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly limits?: ChildLimits
  /** Folders and packages readable under Node's permissions. Without them the child has the permissions of the service's user. */
  readonly files?: { readonly read: readonly string[]; readonly packages: readonly string[] }
  /** Folder for compiled code, written by the child. It shortens a start. */
  readonly codeCache?: string | undefined
  readonly cwd?: string
  /** Default: error output, and the channel of messages. */
  readonly stdio?: readonly IOType[]
  /** Starts a process group. The group is measured and killed as a whole. */
  readonly ownGroup?: boolean
}

/** Limits of the kernel. Only Linux has all of them. */
export interface ChildLimits {
  readonly stackKb?: number
  readonly dataMb?: number
  readonly cpuSeconds?: number
}

export interface WorkLimits {
  readonly deadlineMs: number
  readonly memoryMb: number
  /** Between two measurements of memory. */
  readonly pollMs?: number
  readonly clock?: Clock
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
    super(program)
    this.#ownGroup = program.ownGroup ?? false
    try {
      this.#child = spawned(program)
    } catch (error) {
      process.nextTick(() => this.#failed(error as Error))
      return
    }
    this.#child.on("error", (error) => this.#failed(error))
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
    // A child without descriptors has no channel, despite the types.
    this.#child?.send?.(message, (error) => error && this.kill())
  }

  /** Runs the work under limits of time and of resident memory. The child is killed at a limit. */
  async within<T>({ deadlineMs, memoryMb, pollMs = 25, clock = systemClock }: WorkLimits, work: () => Promise<T>): Promise<T> {
    const cancelDeadline = this.deadline(deadlineMs, "deadline", clock)
    const over = new AbortController()
    this.#watchMemory(memoryMb * 2 ** 20, pollMs, clock, over.signal).catch(throwUncaught)
    try {
      return await work()
    } finally {
      cancelDeadline()
      over.abort()
    }
  }

  async #watchMemory(maxBytes: number, pollMs: number, clock: Clock, over: AbortSignal): Promise<void> {
    const { pid } = this
    if (process.platform !== "linux" || pid === undefined) return
    for (; !over.aborted; await sleep(clock, pollMs, over)) {
      const bytes = await (this.#ownGroup ? groupBytes(pid) : residentBytes(pid))
      if (bytes > maxBytes && !over.aborted) this.kill("memory")
    }
  }

  /**
   * Lowers the child's limit of open files to 0. Open descriptors stay open. Returns the reason if the platform has no
   * prlimit (util-linux). Throws the error of prlimit.
   */
  async denyDescriptors(timeoutMs = prlimitMs): Promise<string | undefined> {
    if (process.platform !== "linux") return `${process.platform} has no prlimit`
    try {
      const options = { timeout: timeoutMs, env: { PATH: process.env["PATH"] } }
      await promisify(execFile)("prlimit", ["--pid", String(this.pid ?? 0), "--nofile=0:0"], options)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error
      return "prlimit, of util-linux, is not installed"
    }
    return undefined
  }

  /** Kills the child, and adds the error to its error output. */
  fail(error: Error): void {
    this.#failed(error)
    this.kill()
  }

  protected end(): void {
    if (!this.#ownGroup) this.#child?.kill("SIGKILL")
    else if (this.pid !== undefined) killGroup(this.pid)
  }

  /** Adds the error to the error output. */
  #failed(error: Error): void {
    this.#stderr += error.message
    if (this.pid === undefined) this.lost({ code: null, signal: null, stderr: this.#stderr, cause: error })
  }
}

function spawned({ main, flags = [], parameters = [], env, files, codeCache, ...program }: ChildProgram): ChildProcess {
  const variables = { TZ: "UTC", ...env, ...(codeCache === undefined ? {} : { NODE_COMPILE_CACHE: codeCache }) }
  const written = codeCache === undefined ? [] : [`${codeCache}/`]
  const permissions = files && [
    "--permission",
    ...[project, ...files.read, ...files.packages.map(folderOfPackage), ...written].map((path) => `--allow-fs-read=${path}`),
    ...written.map((path) => `--allow-fs-write=${path}`),
  ]
  const node = [process.execPath, ...flags, ...(permissions ?? []), fileURLToPath(main), ...parameters]
  const command = [...Object.entries(variables).map(([name, value]) => `${name}=${value}`), ...node]
  return spawn("/bin/sh", ["-c", `${ulimits(program.limits)} ${start}`, ...command], {
    env: {},
    cwd: program.cwd,
    detached: program.ownGroup ?? false,
    stdio: [...(program.stdio ?? ["ignore", "ignore", "pipe", "ipc"])] as IOType[],
  })
}

const require = createRequire(import.meta.url)
const project = fileURLToPath(new URL("../../package.json", import.meta.url))

/** Returns the real path of the folder of all packages around this one. */
function folderOfPackage(name: string): string {
  const path = require.resolve(name)
  return path.slice(0, path.lastIndexOf("node_modules") + "node_modules/".length)
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

const pageBytes = 4_096

/** Resident memory of a process. Returns 0 for an ended process. */
export async function residentBytes(pid: number): Promise<number> {
  try {
    const [, resident = "0"] = (await readFile(`/proc/${pid}/statm`, "utf8")).split(" ")
    return Number(resident) * pageBytes
  } catch {
    return 0
  }
}

/** Memory of a process group, without memory mapped from files. */
async function groupBytes(group: number): Promise<number> {
  const names = await readdir("/proc")
  const sizes = await Promise.all(names.filter((name) => /^\d+$/.test(name)).map((pid) => ownBytes(pid, group)))
  return sizes.reduce((sum, size) => sum + size, 0)
}

/** Returns 0 for a process of another group, and for an ended process. */
async function ownBytes(pid: string, group: number): Promise<number> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8")
    // The name can contain any character. State, parent and group follow its last parenthesis.
    if (Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[2]) !== group) return 0
    const status = await readFile(`/proc/${pid}/status`, "utf8")
    return [...status.matchAll(/^Rss(?:Anon|Shmem):\s+(\d+) kB$/gm)].reduce((sum, [, size]) => sum + Number(size) * 1_024, 0)
  } catch {
    return 0
  }
}
