// Input and output of a command: the streams and variables of the process, or of a test.
import { homedir } from "node:os"
import type { Readable, Writable } from "node:stream"

export interface Terminal {
  readonly env: NodeJS.ProcessEnv
  readonly stdin: Readable & { readonly isTTY?: boolean; setRawMode?(on: boolean): unknown }
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number }
  readonly stderr: Writable & { readonly isTTY?: boolean; readonly columns?: number }
  /** Returns a signal. The next interrupt aborts it, and only a second interrupt ends the process. */
  interrupted?(): AbortSignal
  /**
   * For commands that run until stopped: returns a signal. The next interrupt or termination aborts it, and only a second one
   * ends the process.
   */
  stopped?(): AbortSignal
}

export function processTerminal(): Terminal {
  let lost = false
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    // A closed reader fails the write. Other errors are reported here, since most writes do not wait.
    if (error.code === "EPIPE") return
    if (!lost) process.stderr.write(`Standard output cannot be written: ${error.message}\n`)
    lost = true
    process.exitCode ||= 1
  })
  return {
    env: process.env,
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    interrupted: () => abortedBy("SIGINT"),
    stopped: () => abortedBy("SIGINT", "SIGTERM"),
  }
}

function abortedBy(...signals: readonly NodeJS.Signals[]): AbortSignal {
  const abort = new AbortController()
  for (const signal of signals) process.once(signal, () => abort.abort())
  return abort.signal
}

/** Writes one or more lines to standard output. */
export function print({ stdout }: Pick<Terminal, "stdout">, text: string): void {
  stdout.write(`${text}\n`)
}

/** Writes one or more lines to standard error. */
export function printError({ stderr }: Pick<Terminal, "stderr">, text: string): void {
  stderr.write(`${text}\n`)
}

/** Standard output cannot be written. The terminal has printed the reason. */
export class OutputLost extends Error {
  override readonly name = "OutputLost"
}

/** Folder of the user's settings: https://specifications.freedesktop.org/basedir-spec/latest/ */
export function configFolder(env: NodeJS.ProcessEnv): string {
  const given = env["XDG_CONFIG_HOME"]
  // The specification requires ignoring a relative path.
  if (given?.startsWith("/")) return `${given}/millrace`
  if (process.platform === "win32" && env["APPDATA"]) return `${env["APPDATA"]}\\millrace`
  return `${env["HOME"] || homedir()}/.config/millrace`
}

/** Reads a stream to its end. */
export async function readAll(stream: Readable): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(Buffer.from(chunk as Uint8Array | string))
  return Buffer.concat(chunks).toString("utf8")
}

/** Control characters except tab and line feed (C0, DEL, C1), and characters that change the text direction. */
const commanding = /[^\P{Cc}\t\n]|[\u202a-\u202e\u2066-\u2069]/gu

/** Escapes characters that move the cursor or change colours, since data may come from strangers. */
export function harmless(text: string): string {
  return text.replace(commanding, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`)
}
