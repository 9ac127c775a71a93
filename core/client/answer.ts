// Reads the service's answers: JSON, a stream, or a thrown error.
import type { ErrorBody, ErrorCode } from "../kernel/errors.ts"
import { ClientError } from "./error.ts"

/** An export. Read it once, chunk by chunk, at the reader's speed. */
export interface ClientStream extends AsyncIterable<Uint8Array> {
  readonly contentType: string
  readonly fileName: string
  /** Returns the whole stream as text. Use it for small exports. */
  text(): Promise<string>
}

/** Throws ClientError if the body is not JSON. */
export async function jsonOf(response: Response): Promise<unknown> {
  const text = await response.text()
  try {
    return JSON.parse(text)
  } catch (cause) {
    const message = `The response is not JSON; is this the address of a Millrace service? It starts: ${text.slice(0, 100)}`
    throw new ClientError("unknown", message, { reason: "not_json" }, { status: response.status, cause })
  }
}

export async function errorOf(response: Response): Promise<ClientError> {
  const text = await response.text().catch(() => "")
  const { status, headers } = response
  const retryAfterS = secondsOf(headers.get("retry-after") ?? "")
  const options = { status, requestId: headers.get("x-request-id") ?? undefined, retryAfterS }
  const own = ownBody(text)
  if (own) return new ClientError(own.code, own.message, own.details, options)
  const message = `The response has status ${status}, and is not from the service itself${text === "" ? "." : `: ${text.slice(0, 200)}`}`
  return new ClientError(codeOf(status), message, { reason: "unrecognized_response" }, options)
}

/** Returns the body as a stream. A stream cut on the way fails instead of ending early. */
export function streamOf(response: Response): ClientStream {
  const { body, headers } = response
  return {
    contentType: headers.get("content-type") ?? "application/octet-stream",
    fileName: fileNameOf(headers.get("content-disposition") ?? ""),
    async text() {
      const decoder = new TextDecoder()
      let text = ""
      for await (const chunk of this) text += decoder.decode(chunk, { stream: true })
      return text + decoder.decode()
    },
    async *[Symbol.asyncIterator]() {
      // Some browsers cannot iterate over streams.
      const reader = body?.getReader()
      let taken = 0
      try {
        for (;;) {
          const next = await reader?.read()
          if (!next || next.done) return
          taken += next.value.length
          yield next.value
        }
      } catch (cause) {
        const { name } = cause as Error
        if (name === "AbortError") throw new ClientError("canceled", "The export was canceled.", { reason: "client_canceled" }, { cause })
        if (name === "TimeoutError")
          throw new ClientError("deadline_exceeded", "The export timed out.", { reason: "client_timeout" }, { cause })
        throw new ClientError(
          "unavailable",
          `The connection was lost after ${taken} bytes; the response is incomplete.`,
          { reason: "response_truncated", bytes: taken },
          { cause },
        )
      } finally {
        // Leaving the loop early closes the connection.
        await reader?.cancel().catch(() => undefined)
      }
    },
  }
}

function ownBody(text: string): ErrorBody | undefined {
  try {
    const body = JSON.parse(text) as Partial<ErrorBody> | null
    return typeof body?.code === "string" && typeof body.message === "string"
      ? { code: body.code, message: body.message, details: body.details ?? {} }
      : undefined
  } catch {
    return undefined
  }
}

/** Returns the code of answers by proxies and the like. */
function codeOf(status: number): ErrorCode {
  if (status === 502 || status === 503 || status === 504) return "unavailable"
  if (status === 401) return "unauthenticated"
  if (status === 403 || status === 407) return "permission_denied"
  if (status === 404 || status === 410) return "not_found"
  if (status === 413 || status === 429) return "resource_exhausted"
  return status >= 500 ? "internal" : "unknown"
}

/** Parses `Retry-After`: seconds or a date (RFC 9110, section 10.2.3). Undefined for other text. */
function secondsOf(retryAfter: string): number | undefined {
  if (/^\d+(?:\.\d+)?$/.test(retryAfter)) return Number(retryAfter)
  const at = /^[a-z]/i.test(retryAfter) ? Date.parse(retryAfter) : Number.NaN
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - Date.now()) / 1_000))
}

/** Returns the file name (RFC 6266). Prefers the encoded name to the plain one. */
function fileNameOf(disposition: string): string {
  const encoded = /filename\*=UTF-8''([^;]+)/i.exec(disposition)?.[1]
  const plain = /filename="([^"]*)"/i.exec(disposition)?.[1] ?? ""
  try {
    return encoded === undefined ? plain : decodeURIComponent(encoded)
  } catch {
    // A broken name must not lose the export.
    return plain
  }
}
