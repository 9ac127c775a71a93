// Checks signatures with one live secret or public key.
import { isUtf8 } from "node:buffer"
import { createHash, createHmac, createSecretKey, type KeyObject, verify } from "node:crypto"
import { sameBytes } from "#core"
import { decodeStrictly, type Encoding } from "./encoding.ts"
import type { Pieces } from "./signed-text.ts"

export interface Prover {
  readonly secretId: string
  /** Computes the expected value of some bytes once. The returned function checks each claimed signature. */
  over(pieces: Pieces): (candidate: string) => boolean
}

type Hash = "sha1" | "sha256"

export function hmacProver(secretId: string, keyText: Buffer, hash: Hash, encoding: Encoding): Prover {
  const key = createSecretKey(keyText)
  return {
    secretId,
    over(pieces) {
      const mac = createHmac(hash, key)
      for (const piece of pieces) mac.update(piece)
      const expected = mac.digest(encoding)
      return (candidate) => sameBytes(candidate, expected)
    },
  }
}

/**
 * A plain hash of secret and request. Its weakness is length extension: a reader of one signature can sign the same bytes with
 * padding and a suffix. The padding is never valid UTF-8, so other bodies are refused.
 */
export function concatProver(secretId: string, secret: Buffer, hash: Hash, encoding: Encoding): Prover {
  return {
    secretId,
    over(pieces) {
      if (pieces.some((piece) => typeof piece !== "string" && !isUtf8(piece))) return () => false
      const digest = createHash(hash).update(secret)
      for (const piece of pieces) digest.update(piece)
      const expected = digest.digest(encoding)
      return (candidate) => sameBytes(candidate, expected)
    },
  }
}

/** `hash` is null for Ed25519, because Ed25519 includes its hash. ECDSA signatures are ASN.1 DER. */
export function publicKeyProver(secretId: string, key: KeyObject, hash: Hash | null, encoding: Encoding): Prover {
  return {
    secretId,
    over(pieces) {
      const bytes = Buffer.concat(pieces.map((piece) => (typeof piece === "string" ? Buffer.from(piece) : piece)))
      return (candidate) => {
        const signature = decodeStrictly(candidate, encoding)
        return signature !== undefined && verify(hash, bytes, key, signature)
      }
    },
  }
}
