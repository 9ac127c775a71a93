// Runs `millrace pipelines` in its own folder. Runs inside this process, or as a separate process for tests of signals, standard
// input and exit codes.
import { type ChildProcess, spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { projectRoot } from "../../import-graph.ts"
import { finished } from "../../processes.ts"
import { Following, type RanIn, runIn } from "../command-line.ts"

type Variables = Readonly<Record<string, string>>

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

  /** Runs as a separate process. */
  runProcess(args: readonly string[], env: Variables = {}): Promise<RanIn> {
    return finished(this.start(args, env))
  }

  /** Runs in this process until it is stopped. */
  follow(args: readonly string[], env: Variables = {}): Following {
    return new Following(this.path, ["pipelines", ...args], ownEnv(env))
  }

  /** Runs in this process. */
  run(args: readonly string[], env: Variables = {}): Promise<RanIn> {
    return runIn(this.path, ["pipelines", ...args], env)
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true })
  }
}

function ownEnv(env: Variables): NodeJS.ProcessEnv {
  return { PATH: process.env["PATH"], NO_COLOR: "1", ...env }
}
