// The `millrace` command inside a test: its streams are collected, its variables are given, and a folder of its own is
// the user's configuration.
import { Readable, Writable } from "node:stream"
import { runCommand } from "../../core/cli/program.ts"

export interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly stdin?: string
  /** A terminal of so many columns in place of pipes. */
  readonly columns?: number
}

export async function runMillrace(args: readonly string[], { env = {}, stdin = "", columns }: RunOptions = {}): Promise<Ran> {
  const out = collector(columns)
  const err = collector(columns)
  const code = await runCommand(args, {
    env,
    stdin: Object.assign(Readable.from([stdin]), { isTTY: false }),
    stdout: out.stream,
    stderr: err.stream,
  })
  return { code, out: out.text(), err: err.text() }
}

function collector(columns: number | undefined) {
  const chunks: Buffer[] = []
  const stream = new Writable({
    write(chunk: Buffer | string, _encoding, done) {
      chunks.push(Buffer.from(chunk))
      done()
    },
  })
  const text = () => Buffer.concat(chunks).toString("utf8")
  return { stream: Object.assign(stream, columns === undefined ? {} : { isTTY: true, columns }), text }
}
