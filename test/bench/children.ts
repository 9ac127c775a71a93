// Child processes of the bench. They exchange messages with it and end with it.
import { type ChildProcess, fork } from "node:child_process"
import { join } from "node:path"

/** `file` is relative to the bench's folder. */
export function child(file: string, env: Readonly<Record<string, string>> = {}): ChildProcess {
  return fork(join(import.meta.dirname, file), { env: { ...process.env, ...env }, stdio: "inherit" })
}

/** Resolves with the child's next message. */
export function readMessage<T>(from: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null) => reject(new Error(`A process of the bench ended with ${code}`))
    from.once("exit", ended)
    from.once("message", (message) => {
      from.off("exit", ended)
      resolve(message as T)
    })
  })
}
