// Answers packed on their way (gzip, Brotli), and what HEAD and 304 have to say of what GET would send.
import type { IncomingMessage, ServerResponse } from "node:http"
import compression from "compression"
import type { Request, RequestHandler, Response } from "express"

/** What is smaller would hardly shrink. */
const threshold = 1_024

export function packing(): RequestHandler {
  return compression({ threshold, filter: packs })
}

/** Whether an answer of so many bytes may be packed for this client, and then is as long as nobody knows before. */
export function mayBePacked(request: IncomingMessage, bytes: number): boolean {
  return bytes >= threshold && request.headers["accept-encoding"] !== undefined
}

/** To be said by a 304 too, RFC 9110 section 15.4.5; where packing has a body to look at it says so itself. */
export function variesByPacking(response: ServerResponse): void {
  response.appendHeader("Vary", "Accept-Encoding")
}

/** Streams of events are sent as they come: packing would hold them back. */
function packs(request: IncomingMessage, response: ServerResponse): boolean {
  return (
    !String(response.getHeader("content-type")).startsWith("text/event-stream") &&
    compression.filter(request as Request, response as Response)
  )
}
