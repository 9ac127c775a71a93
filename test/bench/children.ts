// Child processes of the bench that talk to it by messages, and end when it is gone.
import { type ChildProcess, fork } from "node:child_process"
import { join } from "node:path"

/** `file` is beside the bench's own. */
export function child(file: string, env: Readonly<Record<string, string>> = {}): ChildProcess {
  return fork(join(import.meta.dirname, file), { env: { ...process.env, ...env }, stdio: "inherit" })
}

/** Its next message. */
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
