// A link over a socket. A frame is its length in four bytes and a message in V8's serialization, which keeps what
// structured clones keep. An end that does not read is given up before it fills this one's memory.
import type { Socket } from "node:net"
import { deserialize, serialize } from "node:v8"
import type { Link } from "../../contract/link.ts"
import { AppError, asAppError, type ErrorCode, type ErrorDetails } from "../../kernel/errors.ts"

const kinds = { tell: 0, ask: 1, answer: 2, refusal: 3 } as const
type Message = readonly [kind: number, seq: number, topic: string, body: unknown]

interface Refusal {
  readonly code: ErrorCode
  readonly message: string
  readonly details: ErrorDetails
  readonly retryAfterS: number | undefined
}

interface Asked {
  readonly resolve: (body: never) => void
  readonly reject: (error: AppError) => void
}

const headBytes = 4
const mostUnread = 256 << 20

export class SocketLink implements Link {
  readonly #socket: Socket
  readonly #asked = new Map<number, Asked>()
  readonly #answerers = new Map<string, (body: never) => unknown>()
  readonly #listeners = new Map<string, (body: never) => void>()
  readonly #losses: (() => void)[] = []
  #seq = 0
  #chunks: Buffer[] = []
  #size = 0
  #lost = false

  constructor(socket: Socket) {
    this.#socket = socket
    socket.on("data", (chunk: Buffer) => this.#read(chunk))
    socket.on("error", () => socket.destroy())
    socket.on("close", () => this.#lose())
  }

  get lost(): boolean {
    return this.#lost
  }

  ask<T>(topic: string, body?: unknown): Promise<T> {
    if (this.#lost) return Promise.reject(away())
    return new Promise<T>((resolve, reject) => {
      const seq = ++this.#seq
      this.#asked.set(seq, { resolve, reject })
      this.#send([kinds.ask, seq, topic, body])
    })
  }

  tell(topic: string, body?: unknown): void {
    this.#send([kinds.tell, 0, topic, body])
  }

  answer<T>(topic: string, serve: (body: T) => unknown): void {
    this.#answerers.set(topic, serve)
  }

  hear<T>(topic: string, run: (body: T) => void): void {
    this.#listeners.set(topic, run)
  }

  onLost(run: () => void): void {
    if (this.#lost) run()
    else this.#losses.push(run)
  }

  close(): void {
    this.#socket.destroy()
  }

  #send(message: Message): void {
    if (this.#lost) return
    const body = serialize(message)
    const head = Buffer.allocUnsafe(headBytes)
    head.writeUInt32LE(body.length)
    this.#socket.cork()
    this.#socket.write(head)
    this.#socket.write(body)
    this.#socket.uncork()
    if (this.#socket.writableLength > mostUnread) this.#socket.destroy()
  }

  #read(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#size += chunk.length
    while (this.#size >= headBytes) {
      const whole = headBytes + this.#front(headBytes).readUInt32LE(0)
      if (whole > mostUnread) return void this.#socket.destroy()
      if (this.#size < whole) return
      const message = messageIn(this.#front(whole).subarray(headBytes, whole))
      // Whoever is at the other end, it is none of ours.
      if (!message) return void this.#socket.destroy()
      this.#chunks[0] = (this.#chunks[0] as Buffer).subarray(whole)
      this.#size -= whole
      this.#take(message)
    }
  }

  /** The first chunk, joined with what follows until it holds that many bytes. */
  #front(bytes: number): Buffer {
    if ((this.#chunks[0]?.length ?? 0) < bytes) this.#chunks = [Buffer.concat(this.#chunks)]
    return this.#chunks[0] as Buffer
  }

  #take([kind, seq, topic, body]: Message): void {
    if (kind === kinds.tell) this.#listeners.get(topic)?.(body as never)
    else if (kind === kinds.ask) void this.#serve(seq, topic, body)
    else {
      const asked = this.#asked.get(seq)
      this.#asked.delete(seq)
      if (kind === kinds.answer) asked?.resolve(body as never)
      else asked?.reject(refused(body as Refusal))
    }
  }

  async #serve(seq: number, topic: string, body: unknown): Promise<void> {
    const serve = this.#answerers.get(topic)
    try {
      if (!serve) throw new AppError("unimplemented", `The other end of this link answers nothing about "${topic}".`)
      this.#send([kinds.answer, seq, "", await serve(body as never)])
    } catch (error) {
      const { code, message, details, retryAfterS } = asAppError(error)
      const told = error instanceof Error && !(error instanceof AppError) ? error.message : message
      this.#send([kinds.refusal, seq, "", { code, message: told, details, retryAfterS } satisfies Refusal])
    }
  }

  #lose(): void {
    if (this.#lost) return
    this.#lost = true
    const asked = [...this.#asked.values()]
    this.#asked.clear()
    for (const { reject } of asked) reject(away())
    for (const run of this.#losses) run()
  }
}

function messageIn(frame: Buffer): Message | undefined {
  try {
    const message: unknown = deserialize(frame)
    return Array.isArray(message) && message.length === 4 ? (message as unknown as Message) : undefined
  } catch {
    return undefined
  }
}

function refused({ code, message, details, retryAfterS }: Refusal): AppError {
  return new AppError(code, message, details, retryAfterS === undefined ? {} : { retryAfterS })
}

function away(): AppError {
  return new AppError(
    "unavailable",
    "The other processes of this service are away; try again in a moment.",
    { reason: "parent_away" },
    { retryAfterS: 1 },
  )
}
