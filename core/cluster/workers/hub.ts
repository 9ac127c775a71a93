// The parent's end: takes in the workers that it has started, and hears of those that an earlier parent left behind.
import { existsSync, rmSync } from "node:fs"
import { connect, createServer, type Server } from "node:net"
import type { Places } from "./places.ts"
import { SocketLink } from "./socket-link.ts"

export const workerTopics = {
  hello: "hello",
  listening: "listening",
  failed: "failed",
  stop: "stop",
  leave: "leave",
  alive: "alive",
} as const

export interface Hello {
  readonly pid: number
  /** Undefined: its parent is gone, and it waits to be told to leave. */
  readonly slot: number | undefined
  /** Where an orphan listens. */
  readonly port?: number
}

export class Hub {
  readonly #places: Places
  readonly #server: Server
  readonly #links = new Set<SocketLink>()

  /** What `welcome` returns is the answer to a worker's hello. */
  constructor(places: Places, welcome: (hello: Hello, link: SocketLink) => unknown) {
    this.#places = places
    this.#server = createServer((socket) => {
      const link = new SocketLink(socket)
      this.#links.add(link)
      link.onLost(() => this.#links.delete(link))
      link.answer(workerTopics.hello, (hello: Hello) => welcome(hello, link))
    })
  }

  /** True where an earlier parent was killed, and may have left workers behind. Throws when another parent is at work here. */
  async listen(): Promise<boolean> {
    const { parent } = this.#places
    if (await answers(parent)) {
      throw new Error(
        `Another running service has its workers on this data folder (${this.#places.folder}). Stop that one first, or set MILLRACE_DATA_DIR to another folder.`,
      )
    }
    // One that ends by itself takes its socket along.
    const left = existsSync(parent)
    rmSync(parent, { force: true })
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject)
      this.#server.listen(parent, resolve)
    })
    return left
  }

  close(): void {
    this.#server.close()
    for (const link of this.#links) link.close()
  }
}

/** A worker's end. Throws when nobody is there. */
export function linkTo(path: string): Promise<SocketLink> {
  return new Promise((resolve, reject) => {
    const socket = connect(path)
    socket.once("error", reject)
    socket.once("connect", () => {
      socket.off("error", reject)
      resolve(new SocketLink(socket))
    })
  })
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path)
    socket.once("error", () => resolve(false))
    socket.once("connect", () => {
      socket.destroy()
      resolve(true)
    })
  })
}
