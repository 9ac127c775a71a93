// A user of the package: a shell in its own folder, independent of the repository and of this test run.
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { delimiter, join } from "node:path"
import { projectRoot } from "../import-graph.ts"
import { finished } from "../processes.ts"

/**
 * Variables that npm sets for scripts and options of Node. Excludes npm's registry, configuration and cache, and trusted
 * certificates.
 */
const ofNpm = /^(npm_(?!config_(cache|registry|userconfig)$)|INIT_CWD$|NODE_(?!EXTRA_CA_CERTS$)|MILLRACE_)/i

export class User {
  readonly folder: string
  readonly #running = new Set<ChildProcess>()

  constructor(folder: string) {
    this.folder = folder
  }

  start(command: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcess {
    const own = Object.entries(process.env).filter(([name]) => !ofNpm.test(name))
    const path = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => !folder.startsWith(join(projectRoot, "node_modules")))
    const child = spawn(command, args, {
      cwd: this.folder,
      env: { ...Object.fromEntries(own), PATH: path.join(delimiter), ...env },
      detached: true,
    })
    this.#running.add(child)
    child.once("close", () => this.#running.delete(child))
    return child
  }

  run(command: string, ...args: string[]): Promise<{ code: number | string | null; output: string }> {
    return finished(this.start(command, args))
  }

  /** Like Ctrl-C in a shell: also signals processes started by the command. */
  interrupt(child: ChildProcess, signal: NodeJS.Signals = "SIGINT"): void {
    if (child.pid !== undefined && this.#running.has(child)) process.kill(-child.pid, signal)
  }

  leave(): void {
    for (const child of this.#running) this.interrupt(child, "SIGKILL")
  }
}

/** Links the installed packages, so npm neither fetches nor unpacks them again. */
export function lendPackages(folder: string): void {
  try {
    execFileSync("cp", ["-al", join(projectRoot, "node_modules"), folder], { stdio: "ignore" })
  } catch {
    // On another disk or kind of system, npm installs all of them.
  }
}
