// Workers whose parent was killed: they stay where they are, so that clients are told to come again instead of finding
// nobody, until the next start on the same data folder sends them away.
import { existsSync } from "node:fs"
import { createServer } from "node:net"
import { resolve } from "node:path"
import { type Clock, sleep } from "../../kernel/clock.ts"
import { type Hello, Hub, linkTo, workerTopics } from "./hub.ts"
import { type Places, placesIn } from "./places.ts"
import type { SocketLink } from "./socket-link.ts"

const callEveryMs = 200
const callWithinMs = 15_000
const leaveWithinMs = 15_000

/** Those that have called at a new parent. */
export class Orphans {
  readonly #links = new Map<SocketLink, number | undefined>()
  #dismissing = false

  add(link: SocketLink, port: number | undefined): void {
    this.#links.set(link, port)
    link.onLost(() => this.#links.delete(link))
    if (this.#dismissing) link.tell(workerTopics.leave)
  }

  listenOn(port: number): boolean {
    return [...this.#links.values()].includes(port)
  }

  /** Sends away those there are and those that still come. Resolves when the former are gone, or take too long about it. */
  async dismiss(clock: Clock): Promise<void> {
    this.#dismissing = true
    const until = clock.monotonic() + leaveWithinMs
    for (const link of this.#links.keys()) link.tell(workerTopics.leave)
    while (this.#links.size > 0 && clock.monotonic() < until) await sleep(clock, 20)
  }
}

/** Called by a worker whose parent is gone; resolves when the next one has told it to leave. */
export async function dismissed(places: Places, hello: Hello, clock: Clock): Promise<void> {
  for (;;) {
    const link = await linkTo(places.parent).catch(() => undefined)
    if (link && (await toldToLeave(link, hello))) return link.close()
    await sleep(clock, callEveryMs)
  }
}

async function toldToLeave(link: SocketLink, hello: Hello): Promise<boolean> {
  const told = new Promise<boolean>((resolve) => {
    link.hear(workerTopics.leave, () => resolve(true))
    link.onLost(() => resolve(false))
  })
  await link.ask(workerTopics.hello, hello).catch(() => link.close())
  return told
}

interface Address {
  readonly host: string
  readonly port: number
}

/** Resolves when nobody else listens there, or orphans of this service do; where some were `left`, these may still have to call. Throws what the system said. */
export async function portIsOurs({ host, port }: Address, orphans: Orphans, left: boolean, clock: Clock): Promise<void> {
  const until = clock.monotonic() + (left ? callWithinMs : 0)
  for (;;) {
    const refusal = await listenOnce(host, port)
    if (!refusal || orphans.listenOn(port)) return
    if (refusal.code !== "EADDRINUSE" || clock.monotonic() >= until) throw refusal
    await sleep(clock, 50)
  }
}

/** For a service without workers, started where there were some: whoever is left of them would hold the port. */
export async function dismissLeftOver(dataDir: string, at: Address, clock: Clock): Promise<void> {
  if (!existsSync(resolve(dataDir, "workers"))) return
  const places = placesIn(dataDir)
  if (!existsSync(places.parent)) return
  const orphans = new Orphans()
  const hub = new Hub(places, (hello, link) => orphans.add(link, hello.port))
  await hub.listen()
  try {
    await sleep(clock, 2 * callEveryMs)
    const ours = await portIsOurs(at, orphans, true, clock).then(
      () => true,
      () => false,
    )
    await orphans.dismiss(clock)
    if (ours) await portIsFree(at, clock)
  } finally {
    hub.close()
  }
}

/** Resolves when those that call late, and are sent away as they come, have left it as well; or take too long about it. */
async function portIsFree({ host, port }: Address, clock: Clock): Promise<void> {
  const until = clock.monotonic() + callWithinMs
  while ((await listenOnce(host, port))?.code === "EADDRINUSE" && clock.monotonic() < until) await sleep(clock, 50)
}

function listenOnce(host: string, port: number): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once("error", resolve)
    server.listen(port, host, () => server.close(() => resolve(undefined)))
  })
}
