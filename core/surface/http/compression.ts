// Response compression (gzip, Brotli), and its headers for HEAD and 304.
import type { IncomingMessage, ServerResponse } from "node:http"
import compression from "compression"
import type { Request, RequestHandler, Response } from "express"

/** Smaller bodies are not compressed. */
const threshold = 1_024

export function compressed(): RequestHandler {
  return compression({ threshold, filter: isCompressible })
}

/** True if the response may be compressed, so that its Content-Length is unknown. */
export function mayBeCompressed(request: IncomingMessage, bytes: number): boolean {
  return bytes >= threshold && request.headers["accept-encoding"] !== undefined
}

/** For 304 responses too, RFC 9110 section 15.4.5; the middleware sets it where there is a body. */
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
