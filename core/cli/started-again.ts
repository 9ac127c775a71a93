// Runs a script in a child process and restarts it after changes in folders. A loaded plugin stays loaded, so a changed plugin
// needs a new process. Uses Node's watch mode.
import { spawn } from "node:child_process"

export interface StartedAgain {
  readonly folders: readonly string[]
  /** The script and its arguments. */
  readonly command: readonly string[]
  /** Default: the current directory. */
  readonly cwd?: string
}

/** Runs until a stop signal. Returns the exit code. */
export async function startedAgain({ folders, command, cwd = process.cwd() }: StartedAgain): Promise<number> {
  const flags = ["--watch", "--watch-preserve-output", ...folders.map((folder) => `--watch-path=${folder}`)]
  const child = spawn(process.execPath, [...flags, ...command], { cwd, stdio: "inherit" })
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill(signal))
  return await new Promise<number>((resolve) => child.once("close", (code) => resolve(code ?? 0)))
}

/** Returns true if this process was started by the watch mode. */
export function isStartedAgain(): boolean {
  return process.env["WATCH_REPORT_DEPENDENCIES"] !== undefined
}
