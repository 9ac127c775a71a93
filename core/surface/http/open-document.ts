// A public text, such as the OpenAPI document or a script. The first request renders, compresses and tags it once. Later requests
// only send bytes.
import { promisify } from "node:util"
import { brotliCompress, gzip } from "node:zlib"
import type { Request, Response } from "express"
import type { RouteResponse } from "../../contract/route.ts"
import { entityTag, tagMatches, variesByEncoding } from "./answer.ts"

export interface ServedDocument {
  readonly contentType: string
  readonly headers?: Readonly<Record<string, string>>
  /** Called once. */
  text(): string
}

type Encoding = "br" | "gzip" | "identity"

interface Rendered {
  readonly tag: string
  readonly bodies: Readonly<Record<Encoding, Buffer>>
}

/** Sends the text with these headers, or a 304 if the client has a current copy. Calls `text` once. */
export function openDocument(
  text: () => string,
): (request: Request, response: Response, headers: RouteResponse["headers"]) => Promise<void> {
  let rendered: Promise<Rendered> | undefined
  return async (request, response, headers = {}) => {
    rendered ??= render(text())
    const { tag, bodies } = await rendered
    for (const [name, value] of Object.entries({ "Cache-Control": "private, no-cache", ...headers })) response.setHeader(name, value)
    response.setHeader("ETag", tag)
    variesByEncoding(response)
    const known = request.headers["if-none-match"]
    if (known !== undefined && tagMatches(known, tag)) {
      response.removeHeader("Content-Type")
      return void response.writeHead(304).end()
    }
    const encoding = (request.acceptsEncodings(["br", "gzip", "identity"]) || "identity") as Encoding
    const body = bodies[encoding]
    // The header also keeps the compression middleware from compressing again.
    if (encoding !== "identity") response.setHeader("Content-Encoding", encoding)
    response.writeHead(200, { "Content-Length": body.length }).end(request.method === "HEAD" ? undefined : body)
  }
}

async function render(text: string): Promise<Rendered> {
  const identity = Buffer.from(text)
  const [br, gzipped] = await Promise.all([promisify(brotliCompress)(identity), promisify(gzip)(identity)])
  return { tag: entityTag(text), bodies: { br, gzip: gzipped, identity } }
}
