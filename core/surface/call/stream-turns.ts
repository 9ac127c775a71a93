// Streamed answers, such as exports: a few of one organization at once, and their chunks by organization in turn.
// Without this, hundreds of exports of one key keep the event loop from everybody else.
import type { Streamed } from "../../contract/operation.ts"
import { AppError } from "../../kernel/errors.ts"
import { FairLimiter } from "../../kernel/fair-limiter.ts"
import { giveWay } from "../../kernel/main-thread.ts"

/** Streams of one organization that are open at once on a node. */
const maxOpen = 4
/** Calls of one organization that wait for an open stream to end. */
const maxWaiting = 16
/** Chunks that are made at once, of all organizations: one is read from the store while another is written as text. */
const chunkSlots = 2
const retryAfterS = 5

interface Share {
  open: number
  readonly waiting: (() => void)[]
}

export class StreamTurns {
  readonly #shares = new Map<string, Share>()
  readonly #chunks: FairLimiter

  constructor() {
    // Each open stream waits for one chunk, so the bound of open streams bounds these too.
    const maxChunks = Number.MAX_SAFE_INTEGER
    this.#chunks = new FairLimiter({ slots: chunkSlots, maxWaiting: maxChunks, refusal: () => new Error("Too many chunks wait.") })
  }

  /** Resolves to a release once the organization may open another stream. The signal releases it as well, and ends a wait. Throws `resource_exhausted`. */
  async enter(organization: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted()
    const share = this.#shares.get(organization) ?? { open: 0, waiting: [] }
    this.#shares.set(organization, share)
    if (share.open < maxOpen) share.open++
    else if (share.waiting.length < maxWaiting) await waitIn(share.waiting, signal)
    else throw tooMany()
    let isReleased = false
    const release = () => {
      if (isReleased) return
      isReleased = true
      signal.removeEventListener("abort", release)
      this.#leave(organization, share)
    }
    signal.addEventListener("abort", release, { once: true })
    if (signal.aborted) release()
    return release
  }

  /** The same stream. Its chunks are made in turn, and its end releases its place. */
  inTurn(organization: string, stream: Streamed, release: () => void): Streamed {
    const source = stream.chunks[Symbol.asyncIterator]()
    const next = async () => {
      try {
        const chunk = await this.#chunks.run({ organization }, async () => {
          await giveWay()
          return await source.next()
        })
        if (chunk.done) release()
        return chunk
      } catch (error) {
        release()
        throw error
      }
    }
    const end = async (): Promise<IteratorResult<string>> => {
      release()
      await source.return?.()
      return { done: true, value: undefined }
    }
    return { ...stream, chunks: { [Symbol.asyncIterator]: () => ({ next, return: end }) } }
  }

  /** The oldest waiting call takes the place. */
  #leave(organization: string, share: Share): void {
    const start = share.waiting.shift()
    if (start) {
      start()
      return
    }
    share.open--
    if (share.open === 0) this.#shares.delete(organization)
  }
}

function waitIn(waiting: (() => void)[], signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = () => {
      waiting.splice(waiting.indexOf(start), 1)
      reject(signal.reason)
    }
    const start = () => {
      signal.removeEventListener("abort", leave)
      resolve()
    }
    signal.addEventListener("abort", leave, { once: true })
    waiting.push(start)
  })
}

function tooMany(): AppError {
  const message = `${maxOpen} exports of this organization are running and ${maxWaiting} wait; try again in ${retryAfterS} s.`
  return new AppError("resource_exhausted", message, { reason: "too_many_exports" }, { retryAfterS })
}
