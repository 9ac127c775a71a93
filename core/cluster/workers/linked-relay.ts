// Live messages between the workers of one machine, by way of their parent. A worker hears of the rooms that others are
// in, and sends only messages that somebody there waits for: most events concern nobody, and cost nothing here.
import type { Link } from "../../contract/link.ts"
import type { LiveRelay } from "../../contract/live-relay.ts"

const topics = {
  rooms: "relay.rooms",
  entered: "relay.entered",
  left: "relay.left",
  wanted: "relay.wanted",
  message: "relay.message",
} as const

type Addressed = readonly [room: string, message: unknown]

export class LinkedRelay implements LiveRelay {
  readonly #link: Link
  readonly #wanted = new Set<string>()
  readonly #entered = new Map<string, Promise<void>>()
  #hear: (room: string, message: unknown) => void = () => {}

  constructor(link: Link) {
    this.#link = link
    link.hear<Addressed>(topics.message, ([room, message]) => this.#hear(room, message))
    link.answer<readonly [room: string, wanted: boolean]>(topics.wanted, ([room, wanted]) => {
      if (wanted) this.#wanted.add(room)
      else this.#wanted.delete(room)
    })
  }

  async start(): Promise<void> {
    for (const room of await this.#link.ask<readonly string[]>(topics.rooms)) this.#wanted.add(room)
  }

  wanted(room: string): boolean {
    return this.#wanted.has(room)
  }

  send(room: string, message: unknown): void {
    this.#link.tell(topics.message, [room, message] satisfies Addressed)
  }

  onMessage(run: (room: string, message: unknown) => void): void {
    this.#hear = run
  }

  entered(room: string): Promise<void> {
    const known = this.#entered.get(room) ?? this.#link.ask<void>(topics.entered, room)
    this.#entered.set(room, known)
    return known
  }

  left(room: string): void {
    if (this.#entered.delete(room)) this.#link.tell(topics.left, room)
  }

  onLost(run: () => void): void {
    this.#link.onLost(run)
  }
}

/** The parent's side: which worker is in which rooms. */
export class RelayService {
  readonly #rooms = new Map<Link, Set<string>>()

  serve(link: Link): void {
    const own = new Set<string>()
    this.#rooms.set(link, own)
    link.answer(topics.rooms, () => [...new Set(this.#others(link).flatMap((other) => [...(this.#rooms.get(other) ?? [])]))])
    link.answer(topics.entered, async (room: string) => {
      own.add(room)
      await this.#announce(link, room)
    })
    link.hear(topics.left, (room: string) => {
      own.delete(room)
      void this.#announce(link, room)
    })
    link.hear<Addressed>(topics.message, (addressed) => {
      for (const other of this.#others(link)) if (this.#rooms.get(other)?.has(addressed[0])) other.tell(topics.message, addressed)
    })
    link.onLost(() => {
      this.#rooms.delete(link)
      for (const room of own) void this.#announce(link, room)
    })
  }

  #others(link: Link): Link[] {
    return [...this.#rooms.keys()].filter((other) => other !== link)
  }

  /** Tells the others whether somebody beside themselves is in the room; one that is gone counts as told. */
  async #announce(changed: Link, room: string): Promise<void> {
    const told = this.#others(changed).map((other) => {
      const wanted = this.#others(other).some((one) => this.#rooms.get(one)?.has(room))
      return other.ask(topics.wanted, [room, wanted]).catch(() => undefined)
    })
    await Promise.all(told)
  }
}
