// A script in a process of its own that is started again whenever something in some folders changes. What is loaded of a
// plugin stays loaded, so a change of one takes a fresh process; Node's own watch mode gives it.
import { spawn } from "node:child_process"

export interface StartedAgain {
  readonly folders: readonly string[]
  /** The script and its arguments. */
  readonly command: readonly string[]
  /** Default: this one. */
  readonly cwd?: string
}

/** Until it is asked to stop; gives the exit code. */
export async function startedAgain({ folders, command, cwd = process.cwd() }: StartedAgain): Promise<number> {
  const flags = ["--watch", "--watch-preserve-output", ...folders.map((folder) => `--watch-path=${folder}`)]
  const child = spawn(process.execPath, [...flags, ...command], { cwd, stdio: "inherit" })
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill(signal))
  return await new Promise<number>((resolve) => child.once("close", (code) => resolve(code ?? 0)))
}

/** Whether this process is one that is started again. */
export function isStartedAgain(): boolean {
  return process.env["WATCH_REPORT_DEPENDENCIES"] !== undefined
}
