// Reads a response body up to a limit. The limit applies to both the received and the unpacked size, so a small compressed body
// cannot unpack to gigabytes.
import type { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib"
import { AppError, exactJson, type Json } from "#core"

export const acceptedEncodings = "gzip, deflate, br"

export async function readBounded(body: Readable, encoding: string | undefined, maxBytes: number, from: string): Promise<Buffer> {
  const chunks: Buffer[] = []
  const collect = async (source: AsyncIterable<Buffer>): Promise<void> => {
    let size = 0
    for await (const chunk of source) {
      size += chunk.length
      if (size > maxBytes) throw tooLarge(maxBytes, from)
      chunks.push(chunk)
    }
  }
  const unpack = unpackerOf(encoding, from)
  if (!unpack) await collect(body)
  else await pipeline(boundedSource(body, maxBytes, from), unpack, collect)
  return Buffer.concat(chunks)
}

async function* boundedSource(body: Readable, maxBytes: number, from: string): AsyncGenerator<Buffer> {
  let size = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBytes) throw tooLarge(maxBytes, from)
    yield chunk
  }
}

function unpackerOf(encoding: string | undefined, from: string) {
  const name = (encoding ?? "").trim().toLowerCase()
  if (name === "" || name === "identity") return undefined
  if (name === "gzip" || name === "x-gzip") return createGunzip()
  if (name === "deflate") return createInflate()
  if (name === "br") return createBrotliDecompress()
  throw new AppError(
    "failed_precondition",
    `${from} responded with the content encoding "${name.slice(0, 40)}", which was not requested.`,
    {
      reason: "unexpected_encoding",
      retryable: false,
    },
  )
}

function tooLarge(maxBytes: number, from: string): AppError {
  return new AppError("resource_exhausted", `The response of ${from} is larger than ${maxBytes} bytes, and was dropped.`, {
    reason: "response_too_large",
    max_bytes: maxBytes,
    retryable: false,
  })
}

/** Decodes with the charset of the content type. UTF-8 for unknown charsets. */
export function textOf(body: Buffer, contentType: string): string {
  const charset = /charset=["']?([\w.:-]+)/i.exec(contentType)?.[1] ?? "utf-8"
  try {
    return new TextDecoder(charset).decode(body)
  } catch {
    return new TextDecoder().decode(body)
  }
}

const maxLevels = 100

/**
 * Parses JSON; long integers become texts. Undefined for another content type, for invalid text, and beyond the nesting limit of
 * rows.
 */
export function jsonOf(text: string, contentType: string): Json | undefined {
  if (!/^application\/(?:[\w.+-]+\+)?json\b|^text\/json\b/i.test(contentType)) return undefined
  let parsed: Json
  try {
    parsed = exactJson(text) as Json
  } catch {
    return undefined
  }
  let level: Json[] = [parsed]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxLevels) return undefined
    level = level.flatMap((value) => (typeof value === "object" && value !== null ? Object.values(value) : []))
  }
  return parsed
}
