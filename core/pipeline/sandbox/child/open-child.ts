// Startup of a child. It requests the bundle of its isolates, loads it, requests confinement and reports ready. Work follows only
// then. The child ends together with its parent.
import { flushCompileCache } from "node:module"
import { Socket } from "node:net"
import { FrameReader, frameOf } from "../wire.ts"
import { confine } from "./confinement.ts"

const pipeFd = 3

export type Send = (parts: readonly string[]) => void

export interface ChildWork {
  /**
   * Loads the bundle of the isolates, and everything that loads lazily, because a confined child cannot open files. May return a
   * snapshot for later children.
   */
  load(bundle: string): string | undefined
  /** Loads the snapshot of an earlier child. */
  loadSnapshot?(snapshot: string): void
  onFrame(parts: string[], send: Send): void
}

export function openChild({ load, loadSnapshot, onFrame }: ChildWork): void {
  // The variable is no longer needed, and it names a folder of the service.
  delete process.env["NODE_COMPILE_CACHE"]
  const socket = new Socket({ fd: pipeFd, readable: true, writable: true })
  const send: Send = (parts) => {
    socket.write(frameOf(parts))
  }
  let confined = false
  const frames = new FrameReader((parts) => {
    if (confined) onFrame(parts, send)
    else if (parts[0] === "bundle") {
      const snapshot = load(parts[1] ?? "")
      flushCompileCache()
      send(["loaded", snapshot ?? ""])
    } else if (parts[0] === "snapshot") {
      loadSnapshot?.(parts[1] ?? "")
      flushCompileCache()
      send(["loaded"])
    } else if (parts[0] === "confine") {
      confined = true
      // An error here ends the process, because an unconfined child must not work.
      confine()
        .then((undenied) => send(["ready", ...undenied]))
        .catch(endChild)
    }
  })
  socket.on("data", (chunk: Buffer) => frames.push(chunk))
  socket.on("close", () => process.exit(0))
  socket.on("error", () => process.exit(0))
  send(["online"])
}

/** Ends this process with the error. Its parent starts another child. */
export function endChild(error: unknown): void {
  console.error(error)
  process.exit(1)
}
