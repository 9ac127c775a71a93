// Lowers a process's limit of open files to none: what it holds stays, and it gets no file, socket or pipe any more. Node
// has no call for it; util-linux's prlimit, which every common distribution has, does it from outside.
import { execFile } from "node:child_process"

const waitMs = 5_000

/** Of a machine under pressure: what did not start may well start in a moment. */
const passing: ReadonlySet<unknown> = new Set(["EMFILE", "ENFILE", "EAGAIN", "ENOMEM"])

/** Answers undefined, or why this platform does not do it. Rejects where it would, and did not this time. */
export function forbidDescriptors(pid: number): Promise<string | undefined> {
  if (process.platform !== "linux") return Promise.resolve(`${process.platform} has no prlimit`)
  return new Promise((resolve, reject) => {
    execFile("prlimit", ["--pid", String(pid), "--nofile=0:0"], { timeout: waitMs, env: { PATH: process.env["PATH"] } }, (error) => {
      if (!error) resolve(undefined)
      else if (error.killed || ("code" in error && passing.has(error.code))) reject(error)
      else resolve("code" in error && error.code === "ENOENT" ? "prlimit, of util-linux, is not installed" : error.message.trim())
    })
  })
}
