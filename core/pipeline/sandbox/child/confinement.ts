// Drops a child's rights after it has loaded its own code, and before foreign text enters. Code that escapes from an isolate then
// has no rights.
// This file drops the permissions, the user, and the functions that signal other processes. It tries each denial, and reports the
// failed ones. The parent has already denied descriptors (core/process/confined-child.ts).
import { spawnSync } from "node:child_process"
import { closeSync, openSync } from "node:fs"
import { connect } from "node:net"
import { Worker } from "node:worker_threads"

/** By convention this user has no rights and owns no files on common systems. */
const nobody = 65_534
const permissions = ["fs", "child", "worker", "wasi", "inspector", "addon"]
/** Functions that signal, load code or expose resources of the process. */
const removed = [
  ...["abort", "binding", "dlopen", "kill", "setegid", "seteuid", "setgid", "setgroups", "setuid", "initgroups"],
  ...["_debugEnd", "_debugProcess", "_getActiveHandles", "_getActiveRequests", "_kill", "_linkedBinding", "_rawDebug"],
]

/** The native function behind `process.kill`. It returns an error number, or 0 on success. */
const { _kill: signal } = process as unknown as { _kill(pid: number, signal: number): number }
const sigkill = 9
const dlopen = process.dlopen.bind(process)

/** Drops all rights. Returns the rights that the platform did not remove, or an empty list. */
export function confine(): Promise<string[]> {
  if (process.getuid?.() === 0) {
    process.setgroups?.([])
    process.setgid?.(nobody)
    process.setuid?.(nobody)
  }
  for (const scope of permissions) (process.permission as unknown as { drop(scope: string): void }).drop(scope)
  for (const name of removed) Reflect.deleteProperty(process, name)
  return undenied()
}

/** Ends this process immediately. */
export function endSelf(): void {
  signal(process.pid, sigkill)
}

async function undenied(): Promise<string[]> {
  const here = import.meta.filename
  const tries: Readonly<Record<string, () => unknown>> = {
    "reading files": () => closeSync(openSync(here, "r")),
    "writing files": () => closeSync(openSync(here, "r+")),
    "databases in files": () => process.getBuiltinModule("node:sqlite").DatabaseSync.name,
    addons: () => {
      try {
        dlopen({ exports: {} }, here)
      } catch (error) {
        // Any other error means that the file was accessible.
        if ((error as NodeJS.ErrnoException).code === "ERR_ACCESS_DENIED") throw error
      }
    },
    threads: () => new Worker(here).terminate(),
    processes: () => {
      const { error } = spawnSync(process.execPath, ["--version"])
      if (error) throw error
    },
    "signals to the service": () => {
      if (signal(process.ppid, 0) !== 0) throw new Error("of another user")
    },
    "the rights of root": () => {
      if (process.getuid?.() !== 0) throw new Error("another user")
    },
  }
  const found = Object.entries(tries).filter(([, attempt]) => works(attempt))
  const names = found.map(([name]) => name)
  if (await reachesNetwork()) names.push("the network")
  return names
}

function works(attempt: () => unknown): boolean {
  try {
    attempt()
    return true
  } catch {
    return false
  }
}

/** A refused connection proves network access. */
function reachesNetwork(): Promise<boolean> {
  return new Promise((resolve) => {
    try {
      const socket = connect({ host: "127.0.0.1", port: 9 })
      socket.once("connect", () => resolve(true))
      socket.once("error", ({ code }: NodeJS.ErrnoException) => resolve(code !== "EMFILE" && code !== "ERR_ACCESS_DENIED"))
      socket.once("close", () => resolve(true))
    } catch {
      resolve(false)
    }
  })
}
