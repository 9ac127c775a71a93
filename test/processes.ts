// Child processes in tests: what they said until something was seen, or until they ended.
import type { ChildProcess } from "node:child_process"

/** Everything said until the pattern was seen; rejects with it when the process ends first. */
export function outputUntil(child: ChildProcess, pattern: RegExp): Promise<string> {
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
export function finished(child: ChildProcess): Promise<{ code: number | string | null; output: string }> {
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
