// CORS headers for the configured origins. Credentials are bearer tokens, so cookies are not allowed.
import type { IncomingMessage, ServerResponse } from "node:http"

const exposed =
  "X-Request-Id, RateLimit, RateLimit-Policy, Retry-After, ETag, Idempotency-Replayed, Content-Disposition, WWW-Authenticate, Allow"
const accepted = [
  "Accept",
  "Authorization",
  "Content-Type",
  "Idempotency-Key",
  "If-Match",
  "If-None-Match",
  "Last-Event-ID",
  "Mcp-Method",
  "Mcp-Name",
  "Mcp-Protocol-Version",
  "Mcp-Session-Id",
  "X-Organization-ID",
  "X-Request-Id",
  "X-Service-Test",
  "traceparent",
  "tracestate",
].join(", ")

export function corsHeaders(request: IncomingMessage, response: ServerResponse, origins: readonly string[]): void {
  if (origins.length === 0) return
  const any = origins.includes("*")
  if (!any) response.appendHeader("Vary", "Origin")
  const origin = request.headers.origin
  if (!origin || !(any || origins.includes(origin))) return
  response.setHeader("Access-Control-Allow-Origin", any ? "*" : origin)
  response.setHeader("Access-Control-Expose-Headers", exposed)
}

/** Adds the preflight headers to an OPTIONS response. */
export function preflightHeaders(request: IncomingMessage, response: ServerResponse, methods: readonly string[]): void {
  if (!response.hasHeader("Access-Control-Allow-Origin") || !request.headers["access-control-request-method"]) return
  response.setHeader("Access-Control-Allow-Methods", methods.join(", "))
  response.setHeader("Access-Control-Allow-Headers", accepted)
  response.setHeader("Access-Control-Max-Age", "600")
}
