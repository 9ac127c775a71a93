// Fair scheduling of streamed responses such as exports. Limits the open streams of an organization and interleaves their chunks
// by organization. Without it, hundreds of exports with one key would block the event loop for other organizations.
import type { Streamed } from "../../contract/operation.ts"
import { AppError } from "../../kernel/errors.ts"
import { FairLimiter } from "../../kernel/fair-limiter.ts"
import { giveWay } from "../../kernel/main-thread.ts"

/** Maximum of open streams of one organization on a node. */
const maxOpen = 4
/** Maximum of waiting calls of one organization. */
const maxWaiting = 16
/** Chunks in progress at once, for all organizations. One chunk is read from the store while another is serialized. */
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
    // Each open stream waits for one chunk. The limit of open streams is therefore also the limit here.
    const maxChunks = Number.MAX_SAFE_INTEGER
    this.#chunks = new FairLimiter({ slots: chunkSlots, maxWaiting: maxChunks, refusal: () => new Error("Too many chunks wait.") })
  }

  /**
   * Resolves to a release function when the organization may open another stream. An abort also releases the place or ends the
   * wait. Throws `resource_exhausted`.
   */
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

  /** Returns the stream with scheduled chunks. The end of the stream releases its place. */
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

  /** The oldest waiting call receives the place. */
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
