// HTTP responses: text and JSON with an entity tag on reads, errors in one format, and streams with backpressure.
import { createHash } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import compression from "compression"
import type { Request, RequestHandler, Response } from "express"
import type { Streamed } from "../../contract/operation.ts"
import { AppError } from "../../kernel/errors.ts"
import type { Ids } from "../../kernel/ids.ts"

export const jsonType = "application/json; charset=utf-8"

export function sendJson(request: IncomingMessage, response: ServerResponse, status: number, body: unknown): void {
  sendText(request, response, status, JSON.stringify(body), jsonType)
}

export function sendText(request: IncomingMessage, response: ServerResponse, status: number, text: string, contentType: string): void {
  response.setHeader("Content-Type", contentType)
  const reads = (request.method === "GET" || request.method === "HEAD") && status === 200
  response.setHeader("Cache-Control", reads ? "private, no-cache" : "no-store")
  if (reads) {
    const tag = entityTag(text)
    const known = request.headers["if-none-match"]
    response.setHeader("ETag", tag)
    if (known !== undefined && tagMatches(known, tag)) {
      response.removeHeader("Content-Type")
      variesByEncoding(response)
      response.writeHead(304).end()
      return
    }
  }
  const bytes = Buffer.byteLength(text)
  if (request.method !== "HEAD" || !mayBeCompressed(request, bytes)) response.setHeader("Content-Length", bytes)
  response.writeHead(status).end(request.method === "HEAD" ? undefined : text)
}

export function sendError(request: IncomingMessage, response: ServerResponse, error: AppError): void {
  if (error.retryAfterS !== undefined) response.setHeader("Retry-After", error.retryAfterS)
  if (error.status === 401) response.setHeader("WWW-Authenticate", 'Bearer realm="millrace"')
  const methods = error.details["allow"]
  if (error.status === 405 && Array.isArray(methods)) response.setHeader("Allow", methods.join(", "))
  sendJson(request, response, error.status, error.toBody())
}

/**
 * Sends the chunks at the speed of the client. If the source fails before its first chunk, the function throws. A later failure
 * cuts the connection, so a client cannot mistake a part for the whole.
 */
export async function sendStream(request: IncomingMessage, response: ServerResponse, status: number, stream: Streamed): Promise<void> {
  const chunks = stream.chunks[Symbol.asyncIterator]()
  const first = request.method === "HEAD" ? undefined : await chunks.next()
  response.setHeader("Content-Type", stream.contentType)
  response.setHeader("Content-Disposition", disposition(stream.fileName))
  response.setHeader("Cache-Control", "no-store")
  response.writeHead(status)
  if (first === undefined) {
    await chunks.return?.()
    response.end()
    return
  }
  try {
    await pipeline(Readable.from(following(first, chunks)), response)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_STREAM_PREMATURE_CLOSE") throw error
  }
}

async function* following(first: IteratorResult<string>, chunks: AsyncIterator<string>): AsyncGenerator<string> {
  try {
    for (let next = first; !next.done; next = await chunks.next()) yield next.value
  } finally {
    await chunks.return?.()
  }
}

/** RFC 6266: an ASCII name for old clients and the full name. */
function disposition(fileName: string): string {
  const ascii = fileName.replace(/[^\x20-\x7e]|["\\]/g, "_")
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encodeURIComponent(fileName).replace(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)}`
}

/** Weak, because a proxy may compress the response. */
export function entityTag(text: string): string {
  return `W/"${createHash("sha256").update(text).digest("base64url").slice(0, 27)}"`
}

/** Weak comparison with a list of tags or `*` (RFC 9110 section 8.8.3.2). */
export function tagMatches(given: string, tag: string): boolean {
  const plain = tag.replace(/^W\//, "")
  return given.split(",").some((one) => one.trim() === "*" || one.trim().replace(/^W\//, "") === plain)
}

/** Minimum size for compression, in bytes. */
const threshold = 1_024

/** Response compression (gzip, Brotli), and its headers for HEAD and 304. */
export function compressed(): RequestHandler {
  return compression({ threshold, filter: isCompressible })
}

/** Returns true if the response may be compressed. Its Content-Length is then unknown. */
export function mayBeCompressed(request: IncomingMessage, bytes: number): boolean {
  return bytes >= threshold && request.headers["accept-encoding"] !== undefined
}

/** Sets Vary for 304 responses too (RFC 9110 section 15.4.5). The middleware sets it for responses with a body. */
export function variesByEncoding(response: ServerResponse): void {
  response.appendHeader("Vary", "Accept-Encoding")
}

/** Event streams are not compressed: compression would buffer them. */
function isCompressible(request: IncomingMessage, response: ServerResponse): boolean {
  return (
    !String(response.getHeader("content-type")).startsWith("text/event-stream") &&
    compression.filter(request as Request, response as Response)
  )
}

// The error for an unsupported method: 405 with the supported methods.

/** `details.allow` becomes the Allow header. */
export function methodNotAllowed(method: string, path: string, allow: readonly string[]): AppError {
  const message = `${path} does not answer ${method}; it answers ${allow.join(", ")}.`
  return new AppError("unimplemented", message, { reason: "method_not_allowed", allow: [...allow] }, { status: 405 })
}

const pattern = /^[\w\-=.]{1,255}$/

/** Returns the request id for logs, audit and responses. A well-formed id of the client is used. */
export function requestIdOf(request: IncomingMessage, ids: Ids): string {
  const given = request.headers["x-request-id"]
  return typeof given === "string" && pattern.test(given) ? given : ids.uuid()
}
