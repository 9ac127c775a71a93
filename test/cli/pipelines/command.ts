// The `millrace pipelines` command in a folder of its own: in this process, or as a process where that is what a test is
// about (signals, standard input, exit codes as a shell sees them).
import { type ChildProcess, spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { Readable, Writable } from "node:stream"
import { runReported } from "../../../core/cli/program.ts"
import { projectRoot } from "../../import-graph.ts"
import { finished } from "../../processes.ts"

export interface Ran {
  readonly code: number | string | null
  /** Of both streams, as they came. */
  readonly output: string
}

type Variables = Readonly<Record<string, string>>

/** The working folder and the variables are the process's: one command runs after the other. */
let last: Promise<unknown> = Promise.resolve()

export class CommandFolder {
  readonly path = mkdtempSync(join(tmpdir(), "millrace-pipelines-"))

  /** Returns the file's path. */
  write(name: string, text: string | Uint8Array): string {
    const file = join(this.path, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
    return file
  }

  start(args: readonly string[], env: Variables = {}): ChildProcess {
    return spawn(process.execPath, [join(projectRoot, "core/millrace.js"), "pipelines", ...args], { cwd: this.path, env: ownEnv(env) })
  }

  /** As a process of its own. */
  runProcess(args: readonly string[], env: Variables = {}): Promise<Ran> {
    return finished(this.start(args, env))
  }

  /** In this process. */
  run(args: readonly string[], env: Variables = {}): Promise<Ran> {
    const ran = last.then(() => runHere(["pipelines", ...args], this.path, ownEnv(env)))
    last = ran.catch(() => undefined)
    return ran
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true })
  }
}

function ownEnv(env: Variables): NodeJS.ProcessEnv {
  return { PATH: process.env["PATH"], NO_COLOR: "1", ...env }
}

async function runHere(args: readonly string[], folder: string, env: NodeJS.ProcessEnv): Promise<Ran> {
  const before = { folder: process.cwd(), env: process.env }
  let output = ""
  const stream = new Writable({
    write(chunk: Buffer | string, _encoding, done) {
      output += chunk.toString()
      done()
    },
  })
  process.chdir(folder)
  process.env = { ...env }
  try {
    const code = await runReported(args, { env, stdin: Readable.from([]), stdout: stream, stderr: stream })
    return { code, output }
  } finally {
    process.env = before.env
    process.chdir(before.folder)
  }
}
