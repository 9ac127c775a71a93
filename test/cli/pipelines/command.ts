// The real `millrace` command in a folder of its own.
import { type ChildProcess, spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { projectRoot } from "../../import-graph.ts"
import { finished } from "../../processes.ts"

export class CommandFolder {
  readonly path = mkdtempSync(join(tmpdir(), "millrace-pipelines-"))

  /** Returns the file's path. */
  write(name: string, text: string | Uint8Array): string {
    const file = join(this.path, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
    return file
  }

  start(args: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcess {
    const own = { PATH: process.env["PATH"], NO_COLOR: "1", ...env }
    return spawn(process.execPath, [join(projectRoot, "core/millrace.js"), "pipelines", ...args], { cwd: this.path, env: own })
  }

  run(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<{ code: number | string | null; output: string }> {
    return finished(this.start(args, env))
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true })
  }
}
