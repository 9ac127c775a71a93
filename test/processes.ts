// Output of child processes and commands in tests: until a pattern matches, or until the end.
import type { Readable } from "node:stream"

/** A child process, or a command in this process. */
export interface Speaking {
  readonly stdout: Readable | null
  readonly stderr: Readable | null
  once(event: "close", listener: (code: number | null, signal: string | null) => void): unknown
  once(event: "error", listener: (error: Error) => void): unknown
}

/** Resolves with all output when the pattern matches. Rejects with it if the process ends first. */
export function outputUntil(child: Speaking, pattern: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = ""
    const hear = (chunk: Buffer): void => {
      output += chunk.toString()
      if (pattern.test(output)) resolve(output)
    }
    child.stdout?.on("data", hear)
    child.stderr?.on("data", hear)
    child.once("close", (code) => reject(new Error(`It ended with ${code} before ${pattern} was seen:\n${output}`)))
  })
}

/** Resolves with the exit code (or the signal) and all output on both streams. */
export function finished(child: Speaking): Promise<{ code: number | string | null; output: string }> {
  return new Promise((resolve, reject) => {
    let output = ""
    const hear = (chunk: Buffer): void => {
      output += chunk.toString()
    }
    child.stdout?.on("data", hear)
    child.stderr?.on("data", hear)
    child.once("error", reject)
    child.once("close", (code, signal) => resolve({ code: code ?? signal, output }))
  })
}
