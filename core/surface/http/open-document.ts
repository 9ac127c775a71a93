// A document that anyone may read, such as the OpenAPI document: rendered, compressed and tagged once, on its first
// request, so that many requests cost no more than sending bytes.
import { promisify } from "node:util"
import { brotliCompress, gzip } from "node:zlib"
import type { Request, Response } from "express"
import { entityTag, tagMatches } from "./answer.ts"
import { variesByEncoding } from "./compression.ts"

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

/** Sends a document, as a 304 where the client has it already. */
export function openDocument(document: ServedDocument): (request: Request, response: Response) => Promise<void> {
  let rendered: Promise<Rendered> | undefined
  return async (request, response) => {
    rendered ??= render(document.text())
    const { tag, bodies } = await rendered
    response.set({ "Cache-Control": "private, no-cache", ETag: tag, ...document.headers })
    variesByEncoding(response)
    const known = request.headers["if-none-match"]
    if (known !== undefined && tagMatches(known, tag)) return void response.writeHead(304).end()
    const encoding = (request.acceptsEncodings(["br", "gzip", "identity"]) || "identity") as Encoding
    const body = bodies[encoding]
    // Also what keeps the compression of other answers from compressing this one again.
    if (encoding !== "identity") response.setHeader("Content-Encoding", encoding)
    response.writeHead(200, { "Content-Type": document.contentType, "Content-Length": body.length })
    response.end(request.method === "HEAD" ? undefined : body)
  }
}

async function render(text: string): Promise<Rendered> {
  const identity = Buffer.from(text)
  const [br, gzipped] = await Promise.all([promisify(brotliCompress)(identity), promisify(gzip)(identity)])
  return { tag: entityTag(text), bodies: { br, gzip: gzipped, identity } }
}
