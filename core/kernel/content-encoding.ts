// Decompresses request bodies (RFC 9110, 8.4.1) in zlib's thread pool, up to a byte limit.
import { type BrotliOptions, brotliDecompress, gunzip, inflate, inflateRaw, type ZlibOptions } from "node:zlib"
import { AppError } from "./errors.ts"

type Decompress = (bytes: Buffer, options: ZlibOptions & BrotliOptions, done: (error: Error | null, result: Buffer) => void) => void

const decompressors: Readonly<Record<string, Decompress>> = {
  gzip: gunzip,
  "x-gzip": gunzip,
  // Senders use the name deflate for both zlib's format and the bare stream.
  deflate: (bytes, options, done) => (isZlib(bytes) ? inflate : inflateRaw)(bytes, options, done),
  br: brotliDecompress,
}

/** Returns undefined for a body that is not encoded. Throws AppError with status 415 for an unknown encoding. */
export function decompressorOf(header: string | undefined): Decompress | undefined {
  const encoding = header?.trim().toLowerCase() ?? ""
  if (encoding === "" || encoding === "identity") return undefined
  const found = Object.hasOwn(decompressors, encoding) ? decompressors[encoding] : undefined
  if (found) return found
  throw new AppError(
    "invalid_argument",
    `The Content-Encoding "${encoding.slice(0, 40)}" is not supported; send gzip, deflate, br, or an unencoded body.`,
    { reason: "unsupported_content_encoding" },
    { status: 415 },
  )
}

/** Calls `done` once. The error is undefined if the body is larger than the limit. */
export function decompress(
  bytes: Buffer,
  { decompressor, limit }: { readonly decompressor: Decompress; readonly limit: number },
  done: (result: Buffer | AppError | undefined) => void,
): void {
  decompressor(bytes, { maxOutputLength: limit }, (error, result) => {
    if (!error) return done(result)
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") return done(undefined)
    done(new AppError("invalid_argument", `The body cannot be decompressed: ${error.message}.`, { reason: "malformed_body" }))
  })
}

/** The first two bytes of zlib's format (RFC 1950, 2.2). */
function isZlib(bytes: Buffer): boolean {
  return bytes.length >= 2 && ((bytes[0] ?? 0) & 0x0f) === 8 && bytes.readUInt16BE(0) % 31 === 0
}
