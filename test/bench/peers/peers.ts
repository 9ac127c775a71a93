// Peer servers in separate processes: they parse the body and send it back without storing it.
import type { ChildProcess } from "node:child_process"
import { child, readMessage } from "../children.ts"

export interface Peer {
  readonly name: string
  readonly url: string
  stop(): void
}

export const express = "express echo"
export const http = "node:http echo"

const files: Readonly<Record<string, string>> = { [express]: "peers/express-echo.ts", [http]: "peers/http-echo.ts" }

export async function startPeer(name: typeof express | typeof http): Promise<Peer> {
  const running: ChildProcess = child(files[name] ?? "", { NODE_ENV: "production" })
  const { url } = await readMessage<{ url: string }>(running)
  return { name, url, stop: () => running.disconnect() }
}
