// A self-signed X.509 certificate (RFC 5280), built by hand, so tests need no system tool.
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto"

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

const sequence = (...parts: readonly Buffer[]) => der(0x30, ...parts)
/** sha256WithRSAEncryption */
const algorithm = sequence(Buffer.from("06092a864886f70d01010b0500", "hex"))
const name = sequence(der(0x31, sequence(Buffer.from("0603550403", "hex"), der(0x0c, Buffer.from("test")))))
const utc = (at: Date) => der(0x18, Buffer.from(`${at.toISOString().replace(/[-:T]/g, "").slice(0, 14)}Z`))

export function selfSigned(from: Date, until: Date): { readonly pem: string; readonly key: KeyObject } {
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 })
  const body = sequence(
    der(0x02, Buffer.from([1])),
    algorithm,
    name,
    sequence(utc(from), utc(until)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
  )
  const signature = der(0x03, Buffer.from([0]), sign("sha256", body, privateKey))
  const text = sequence(body, algorithm, signature).toString("base64").replace(/.{64}/g, "$&\n")
  return { pem: `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`, key: privateKey }
}
