// A child's end of its one pipe: frames in, frames out; gone when the parent is.
import { Socket } from "node:net"
import { FrameReader, frameOf } from "../wire.ts"

const pipeFd = 3

export function openPipe(onFrame: (parts: string[]) => void): (parts: readonly string[]) => void {
  const socket = new Socket({ fd: pipeFd, readable: true, writable: true })
  const frames = new FrameReader(onFrame)
  socket.on("data", (chunk: Buffer) => frames.push(chunk))
  socket.on("close", () => process.exit(0))
  socket.on("error", () => process.exit(0))
  return (parts) => {
    socket.write(frameOf(parts))
  }
}
