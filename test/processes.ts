// Child processes in tests, and what runs like one: what they said until something was seen, or until they ended.
import type { Readable } from "node:stream"

/** A child process, or a command in this process. */
export interface Speaking {
  readonly stdout: Readable | null
  readonly stderr: Readable | null
  once(event: "close", listener: (code: number | null, signal: string | null) => void): unknown
  once(event: "error", listener: (error: Error) => void): unknown
}

/** Everything said until the pattern was seen; rejects with it when the process ends first. */
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

/** Exit code (or the signal that ended it) and everything said on both streams. */
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
