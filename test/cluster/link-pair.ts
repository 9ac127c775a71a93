// The two ends of a link, over a real socket.
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { linkTo } from "../../core/cluster/workers/hub.ts"
import { SocketLink } from "../../core/cluster/workers/socket-link.ts"

export interface LinkPair {
  readonly parent: SocketLink
  readonly worker: SocketLink
}

/** Links as a parent has them to several workers. */
export async function linkPairs(count: number): Promise<{ readonly pairs: readonly LinkPair[]; close(): void }> {
  const folder = mkdtempSync(join(tmpdir(), "millrace-link-"))
  const path = join(folder, "parent.sock")
  const arrived: ((link: SocketLink) => void)[] = []
  const server = createServer((socket) => arrived.shift()?.(new SocketLink(socket)))
  await new Promise<void>((resolve) => server.listen(path, resolve))
  const pairs: LinkPair[] = []
  for (let index = 0; index < count; index++) {
    const parent = new Promise<SocketLink>((resolve) => arrived.push(resolve))
    pairs.push({ worker: await linkTo(path), parent: await parent })
  }
  return {
    pairs,
    close() {
      for (const { parent, worker } of pairs) {
        parent.close()
        worker.close()
      }
      server.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A parent's socket that one end comes to. */
export async function listening(): Promise<{ readonly path: string; readonly arrived: Promise<SocketLink>; close(): void }> {
  const folder = mkdtempSync(join(tmpdir(), "millrace-link-"))
  const path = join(folder, "parent.sock")
  const server = createServer()
  const arrived = new Promise<SocketLink>((resolve) => server.once("connection", (socket) => resolve(new SocketLink(socket))))
  await new Promise<void>((resolve) => server.listen(path, resolve))
  const close = () => {
    server.close()
    rmSync(folder, { recursive: true, force: true })
  }
  return { path, arrived, close }
}
