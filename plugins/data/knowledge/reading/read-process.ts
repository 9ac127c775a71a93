// A reading process as the service sees it: without environment, files, network, addons or children, under limits on memory and
// time, and killed when it passes one.
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { readFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import { frameOf, frameReader, lengthOf, type ReadAnswer, type ReadFault, type ReadResult, type ReadTask } from "./protocol.ts"

export interface ReadLimits {
  readonly memoryMb: number
  readonly deadlineMs: number
}

export type ReadOutcome =
  | Exclude<ReadResult, { kind: "fault" }>
  | { readonly kind: "fault"; readonly fault: ReadFault | "out_of_memory" | "too_slow" | "crashed"; readonly message: string }

const main = fileURLToPath(new URL("./read-main.ts", import.meta.url))
const require = createRequire(import.meta.url)
const maxAnswerBytes = 16 * 1_048_576
/** Address space that Node reserves and never fills. */
const reservedMb = 1_024
const watchMs = 25

/** Resolves with what the document says, or why it says nothing. Rejects where the process could not be started. `document`: in pieces. */
export async function readInProcess(task: ReadTask, document: readonly Uint8Array[], limits: ReadLimits): Promise<ReadOutcome> {
  const child = start(task.type, limits)
  let why: "memory" | "deadline" | undefined
  let stderr = ""
  const kill = (reason?: "memory" | "deadline") => {
    why ??= reason
    child.kill("SIGKILL")
  }
  const stopWatch = watchMemory(child, limits.memoryMb, () => kill("memory"))
  const deadline = setTimeout(() => kill("deadline"), limits.deadlineMs)
  child.stderr?.on("data", (chunk: Buffer) => {
    stderr = (stderr + chunk.toString("utf8")).slice(-2_000)
  })
  // What it leaves unread when it is killed.
  child.stdin?.on("error", () => undefined)
  let isReady = false
  try {
    const answer = await new Promise<ReadResult | undefined>((resolve, reject) => {
      let text: IncomingText | undefined
      const take = frameReader(maxAnswerBytes, (body) => {
        if (text) text.take(body)
        else {
          const said = JSON.parse(body.toString("utf8")) as ReadAnswer
          if (said.kind === "fault") return resolve(said)
          if (said.kind === "text") text = new IncomingText(said, resolve)
          else if (isReady) kill()
          else {
            isReady = true
            shut(child.pid ?? 0).then(() => {
              child.stdin?.write(frameOf(task))
              child.stdin?.write(lengthOf({ length: document.reduce((sum, { length }) => sum + length, 0) }))
              for (const piece of document) child.stdin?.write(piece)
            }, reject)
          }
        }
      })
      child.stdout?.on("data", (chunk: Buffer) => {
        try {
          take(chunk)
        } catch {
          kill("memory")
        }
      })
      child.once("error", reject)
      child.once("close", () => resolve(undefined))
    })
    if (answer) return answer
  } finally {
    clearTimeout(deadline)
    stopWatch()
    kill()
  }
  if (why === "deadline") return { kind: "fault", fault: "too_slow", message: `Reading took more than ${limits.deadlineMs} ms.` }
  if (why === "memory" || /out of memory|allocation failed|Array buffer allocation/i.test(stderr))
    return { kind: "fault", fault: "out_of_memory", message: `Reading took more than ${limits.memoryMb} MiB of memory.` }
  if (!isReady) throw new Error(`The reading process did not start: ${stderr.trim() || "it ended"}`)
  return { kind: "fault", fault: "crashed", message: "The document ended the process that read it." }
}

/** A text as its frames come. A frame may end within a character. */
class IncomingText {
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true })
  readonly #title: string
  readonly #done: (result: ReadResult) => void
  #framesLeft: number
  #bytesLeft = maxAnswerBytes
  #text = ""

  constructor({ title, frames }: Extract<ReadAnswer, { kind: "text" }>, done: (result: ReadResult) => void) {
    this.#title = title
    this.#done = done
    this.#framesLeft = frames
  }

  /** Throws for a longer text than any document may have. */
  take(frame: Buffer): void {
    this.#bytesLeft -= frame.length
    if (this.#bytesLeft < 0) throw new RangeError(`A text of more than ${maxAnswerBytes} bytes is too long.`)
    this.#text += this.#decoder.decode(frame, { stream: true })
    if (--this.#framesLeft === 0) this.#done({ kind: "text", title: this.#title, text: this.#text + this.#decoder.decode() })
  }
}

function start(type: ReadTask["type"], { memoryMb, deadlineMs }: ReadLimits): ChildProcess {
  const flags = [
    ...["--no-warnings", "--permission", "--disable-proto=delete", "--disallow-code-generation-from-strings"],
    ...[`--max-old-space-size=${memoryMb}`, "--no-experimental-websocket", "--no-experimental-eventsource"],
    ...readable().map((path) => `--allow-fs-read=${path}`),
  ]
  const command = [process.execPath, ...flags, main, type]
  const options = { env: {}, stdio: ["pipe", "pipe", "pipe"] as ("pipe" | "ignore")[] }
  if (process.platform !== "linux") return spawn(process.execPath, command.slice(1), options)
  const maxKb = (memoryMb + reservedMb) * 1_024
  // A process that outlives the service has no other deadline.
  const maxCpuSeconds = Math.ceil(deadlineMs / 500) + 5
  return spawn(
    "/bin/sh",
    ["-c", `ulimit -d ${maxKb}; ulimit -t ${maxCpuSeconds}; ulimit -c 0; exec /usr/bin/env -i TZ=UTC "$0" "$@"`, ...command],
    options,
  )
}

let folders: string[] | undefined

/** The folders of the program and of its packages; closed to it too before it sees the document. */
function readable(): string[] {
  const packages = ["pdfjs-dist", "parse5"].map((name) => {
    const path = require.resolve(name === "parse5" ? name : `${name}/package.json`)
    return path.slice(0, path.lastIndexOf("node_modules") + "node_modules/".length)
  })
  const project = fileURLToPath(new URL("../../../../package.json", import.meta.url))
  folders ??= [`${dirname(main)}/`, project, ...new Set(packages)]
  return folders
}

/** Takes files, sockets and pipes beyond those it has from the process (prlimit of util-linux, where there is one). */
function shut(pid: number): Promise<void> {
  if (process.platform !== "linux") return Promise.resolve()
  return new Promise((resolve, reject) => {
    const options = { timeout: 5_000, env: { PATH: process.env["PATH"] } }
    execFile("prlimit", ["--pid", String(pid), "--nofile=0:0"], options, (error) => {
      if (!error || ("code" in error && error.code === "ENOENT")) resolve()
      else reject(error)
    })
  })
}

function watchMemory(child: ChildProcess, memoryMb: number, exceeded: () => void): () => void {
  if (process.platform !== "linux") return () => undefined
  const maxBytes = memoryMb * 2 ** 20
  const timer = setInterval(() => {
    readFile(`/proc/${child.pid}/statm`, "utf8").then(
      (statm) => {
        if (Number(statm.split(" ")[1] ?? 0) * 4_096 > maxBytes) exceeded()
      },
      // The process has ended.
      () => undefined,
    )
  }, watchMs)
  return () => clearInterval(timer)
}
