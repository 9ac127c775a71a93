// Public keys as providers show them: PEM, base64 of SPKI DER, an X.509 certificate, or the 32 raw bytes of Ed25519.
import { createPublicKey, type KeyObject, X509Certificate } from "node:crypto"
import { decodeKey } from "./encoding.ts"

const ed25519Spki = Buffer.from("302a300506032b6570032100", "hex")

/** undefined when the text is not such a key. */
export function publicKey(text: string, form: "spki" | "raw_hex" | "raw_base64"): KeyObject | undefined {
  const plain = text.trim()
  try {
    if (plain.includes("BEGIN CERTIFICATE")) return new X509Certificate(plain).publicKey
    if (plain.startsWith("-----BEGIN PUBLIC KEY") || plain.startsWith("-----BEGIN RSA PUBLIC KEY")) return createPublicKey(plain)
    if (plain.startsWith("-----")) return undefined
    const bytes = decodeKey(plain.replace(/\s+/g, ""), form === "raw_hex" ? "hex" : "base64")
    if (bytes === undefined) return undefined
    if (form === "spki") return createPublicKey({ key: bytes, format: "der", type: "spki" })
    return bytes.length === 32 ? createPublicKey({ key: Buffer.concat([ed25519Spki, bytes]), format: "der", type: "spki" }) : undefined
  } catch {
    return undefined
  }
}
