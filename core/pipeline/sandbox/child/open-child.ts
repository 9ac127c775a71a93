// How a child comes up: it asks for the bundle of its isolates, loads it, asks to be confined, and is ready once it is.
// Work comes after that only. It is gone when its parent is.
import { flushCompileCache } from "node:module"
import { Socket } from "node:net"
import { FrameReader, frameOf } from "../wire.ts"
import { confine } from "./confinement.ts"

const pipeFd = 3

export type Send = (parts: readonly string[]) => void

export interface ChildWork {
  /**
   * Loads the isolates' bundle, and everything that loads lazily: nothing can be opened later. May answer a
   * snapshot of it, which children that start later are given.
   */
  load(bundle: string): string | undefined
  /** Loads what an earlier child has answered. */
  loadSnapshot?(snapshot: string): void
  onFrame(parts: string[], send: Send): void
}

export function openChild({ load, loadSnapshot, onFrame }: ChildWork): void {
  // Has done what it is for, and tells of a folder of the service.
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
      // What fails here ends the process: a child that is not confined does no work.
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

/** Ends this process with the error. Its parent starts another one. */
export function endChild(error: unknown): void {
  console.error(error)
  process.exit(1)
}
