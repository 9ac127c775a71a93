// Reads a request's body within its bounds. It uses callbacks instead of promises because every event passes here.
import type { IncomingMessage } from "node:http"
import { decompress, decompressorOf } from "./content-encoding.ts"
import { AppError, asAppError } from "./errors.ts"

export const empty = Buffer.alloc(0)

export interface RefusedBody {
  readonly refused: AppError
  readonly size: number | undefined
}

/** Bounds the total bytes of incomplete bodies. Slow senders then cannot exhaust the memory. */
export class BufferBudget {
  readonly #maxBytes: number
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  tryTake(bytes: number): boolean {
    if (this.#bytes + bytes > this.#maxBytes) return false
    this.#bytes += bytes
    return true
  }

  giveBack(bytes: number): void {
    this.#bytes -= bytes
  }
}

export type Read = Buffer | RefusedBody | "no_capacity" | "aborted"

interface Bounds {
  /** Bytes of one body. */
  readonly limit: number
  /** Shared with other requests. Without a budget only the single body is bounded. */
  readonly budget?: BufferBudget
}

/** Returns the whole body as a promise. Throws the error of a refused body, or `canceled` if the sender disconnected. */
export function bodyOf(request: IncomingMessage, limit: number): Promise<Buffer> {
  const away = () => new AppError("canceled", "The client disconnected before its body was complete.", { reason: "canceled" })
  return new Promise((resolve, reject) => {
    // The request was closed earlier, so no further event will arrive.
    if (request.destroyed) return reject(away())
    readBody(request, { limit }, (read) => {
      if (Buffer.isBuffer(read)) resolve(read)
      else reject(typeof read === "string" ? away() : read.refused)
    })
  })
}

/**
 * Calls `done` once. Passes the whole body, with its sent bytes if they were compressed, or the error of a refused body.
 * "no_capacity" means that the budget is used up, "aborted" that the sender disconnected.
 */
export function readBody(request: IncomingMessage, { limit, budget }: Bounds, done: (read: Read, sent?: Buffer) => void): void {
  const tooLarge = (size: number | undefined) => ({
    refused: new AppError(
      "resource_exhausted",
      `The body is larger than ${limit} bytes.`,
      { reason: "body_too_large", max_bytes: limit },
      { status: 413 },
    ),
    size,
  })
  let decompressor: ReturnType<typeof decompressorOf>
  try {
    decompressor = decompressorOf(request.headers["content-encoding"])
  } catch (error) {
    request.resume()
    done({ refused: asAppError(error), size: undefined })
    return
  }
  // A compressed body may be a little longer than its result.
  const sentLimit = decompressor ? limit + 1_024 : limit
  const declared = Number(request.headers["content-length"])
  if (declared > sentLimit) {
    request.resume()
    done(tooLarge(declared))
    return
  }
  let first: Buffer | undefined
  let rest: Buffer[] | undefined
  let size = 0
  let held = 0
  let ended = false
  const end = (read: Read, sent?: Buffer) => {
    if (ended) return
    ended = true
    budget?.giveBack(held)
    done(read, sent)
  }
  request.on("data", (chunk: Buffer) => {
    size += chunk.length
    if (size > sentLimit) {
      request.removeAllListeners("data")
      request.resume()
      end(tooLarge(undefined))
      return
    }
    if (budget?.tryTake(chunk.length) === false) {
      request.removeAllListeners("data")
      request.resume()
      end("no_capacity")
      return
    }
    held += chunk.length
    if (!first) first = chunk
    else if (rest) rest.push(chunk)
    else rest = [first, chunk]
  })
  const complete = (bytes: Buffer) => {
    if (!decompressor || bytes.length === 0) return end(bytes)
    if (ended) return
    // The result needs memory before its size is known.
    if (budget?.tryTake(limit) === false) return end("no_capacity")
    if (budget) held += limit
    decompress(bytes, { decompressor, limit }, (result) => {
      if (Buffer.isBuffer(result)) end(result, bytes)
      else end(result ? { refused: result, size: bytes.length } : tooLarge(undefined))
    })
  }
  request.on("end", () => complete(rest ? Buffer.concat(rest, size) : (first ?? empty)))
  request.on("error", () => end("aborted"))
  request.on("close", () => {
    if (!request.complete) end("aborted")
  })
}
