// Runs the `millrace` command inside a test: collects its streams, sets its variables and gives it a separate folder of user
// configuration.
import { EventEmitter } from "node:events"
import { PassThrough, Readable, Writable } from "node:stream"
import { finished } from "node:stream/promises"
import { runCommand, runReported } from "../../core/cli/program.ts"
import type { Terminal } from "../../core/kernel/terminal.ts"
import type { Speaking } from "../processes.ts"

export interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly stdin?: string
  /** Simulates a terminal of this width instead of pipes. */
  readonly columns?: number
  /** Called with all of standard error so far. */
  readonly onErr?: (text: string) => void
}

export async function runMillrace(args: readonly string[], { env = {}, stdin = "", columns, onErr }: RunOptions = {}): Promise<Ran> {
  const out = collector(columns)
  const err = collector(columns, onErr)
  const code = await runCommand(args, {
    env,
    stdin: Object.assign(Readable.from([stdin]), { isTTY: false }),
    stdout: out.stream,
    stderr: err.stream,
  })
  return { code, out: out.text(), err: err.text() }
}

function collector(columns: number | undefined, onText?: (text: string) => void) {
  const chunks: Buffer[] = []
  const text = () => Buffer.concat(chunks).toString("utf8")
  const stream = new Writable({
    write(chunk: Buffer | string, _encoding, callback) {
      chunks.push(Buffer.from(chunk))
      onText?.(text())
      callback()
    },
  })
  return { stream: Object.assign(stream, columns === undefined ? {} : { isTTY: true, columns }), text }
}

/** Output of a command on both streams, in order. */
export interface RanIn {
  readonly code: number | string | null
  /** Excludes the first line if it names the service. */
  readonly output: string
  /** Service named in the first line. */
  readonly service?: string
}

/** Working folder and variables belong to the process, so commands run one after another. */
let last: Promise<unknown> = Promise.resolve()

/** Runs a command in this process as if in a separate process, with only this folder and these variables. */
export async function runIn(folder: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<RanIn> {
  const { code, said: lines } = await runAlone(folder, args, { PATH: process.env["PATH"], NO_COLOR: "1", ...env })
  const output = lines.map(({ text }) => text).join("")
  const [, service] = /^Service: (.*)\n/.exec(output) ?? []
  return service === undefined ? { code, output } : { code, output: output.slice(output.indexOf("\n") + 1), service }
}

export interface RanAlone {
  readonly code: number
  /** In order of output. */
  readonly said: readonly { readonly on: "stdout" | "stderr"; readonly text: string }[]
}

/** The same, with the stream of each output. */
export async function runAlone(folder: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<RanAlone> {
  const messages: { on: "stdout" | "stderr"; text: string }[] = []
  const stream = (on: "stdout" | "stderr") =>
    new Writable({
      write(chunk: Buffer | string, _encoding, callback) {
        messages.push({ on, text: chunk.toString() })
        callback()
      },
    })
  const code = await inTurn(folder, args, { env, stdin: Readable.from([]), stdout: stream("stdout"), stderr: stream("stderr") })
  return { code, said: messages }
}

/** A command that runs in this process until it is stopped. Other such commands wait for its end. */
export class Following extends EventEmitter<{ close: [code: number | null, signal: string | null]; error: [Error] }> implements Speaking {
  readonly stdout = new PassThrough()
  readonly stderr = new PassThrough()
  readonly #stop = new AbortController()

  constructor(folder: string, args: readonly string[], env: NodeJS.ProcessEnv) {
    super()
    const { stdout, stderr } = this
    const ran = inTurn(folder, args, { env, stdin: Readable.from([]), stdout, stderr, stopped: () => this.#stop.signal })
    const ended = async (code: number) => {
      await Promise.all([stdout, stderr].map((stream) => finished(stream.end())))
      this.emit("close", code, null)
    }
    ran.then(ended).catch((error: Error) => this.emit("error", error))
  }

  stop(): void {
    this.#stop.abort()
  }
}

function inTurn(folder: string, args: readonly string[], terminal: Terminal): Promise<number> {
  const ran = last.then(() => runNow(folder, args, terminal))
  last = ran.catch(() => undefined)
  return ran
}

async function runNow(folder: string, args: readonly string[], terminal: Terminal): Promise<number> {
  const before = { folder: process.cwd(), env: process.env }
  process.chdir(folder)
  process.env = { ...terminal.env }
  try {
    return await runReported(args, terminal)
  } finally {
    process.env = before.env
    process.chdir(before.folder)
  }
}
