// What a command reads and writes: the process's own streams and variables, or a test's.
import { homedir } from "node:os"
import type { Readable, Writable } from "node:stream"

export interface Terminal {
  readonly env: NodeJS.ProcessEnv
  readonly stdin: Readable & { readonly isTTY?: boolean; setRawMode?(on: boolean): unknown }
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number }
  readonly stderr: Writable & { readonly isTTY?: boolean; readonly columns?: number }
  /** From now on an interrupt aborts this, and only a second one ends the process. */
  interrupted?(): AbortSignal
  /** Of what runs until it is stopped: from now on an interrupt or a termination aborts this, and only a second one ends the process. */
  stopped?(): AbortSignal
}

export function processTerminal(): Terminal {
  let lost = false
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    // A closed reader fails the write. Anything else is told here, since most write without waiting.
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

/** Writes a line, or several, to standard output. */
export function print({ stdout }: Pick<Terminal, "stdout">, text: string): void {
  stdout.write(`${text}\n`)
}

/** Writes a line, or several, to standard error. */
export function printError({ stderr }: Pick<Terminal, "stderr">, text: string): void {
  stderr.write(`${text}\n`)
}

/** Standard output takes nothing more, and the terminal has said why. */
export class OutputLost extends Error {
  override readonly name = "OutputLost"
}

/** Where settings of the user are kept: https://specifications.freedesktop.org/basedir-spec/latest/ */
export function configFolder(env: NodeJS.ProcessEnv): string {
  const given = env["XDG_CONFIG_HOME"]
  // The specification says to ignore a relative one.
  if (given?.startsWith("/")) return `${given}/millrace`
  if (process.platform === "win32" && env["APPDATA"]) return `${env["APPDATA"]}\\millrace`
  return `${env["HOME"] || homedir()}/.config/millrace`
}

/** Text of a stream to its end. */
export async function readAll(stream: Readable): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(Buffer.from(chunk as Uint8Array | string))
  return Buffer.concat(chunks).toString("utf8")
}

/** Control characters but tab and line feed (C0, DEL, C1), and those that turn the direction of text. */
const commanding = /[^\P{Cc}\t\n]|[\u202a-\u202e\u2066-\u2069]/gu

/** Without what would move the cursor or change colours: data may come from strangers. */
export function harmless(text: string): string {
  return text.replace(commanding, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`)
}
