// The usual kinds of senders: signed parts, place of the signature, and time format.
import { createHmac } from "node:crypto"

export interface Sent {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly url?: string
}

export interface Sender {
  readonly provider: string
  readonly secret: string
  readonly config?: Readonly<Record<string, unknown>>
  readonly covers: "body" | "form" | "fields"
  /** Window in seconds, for a signed timestamp. */
  readonly window_s?: number
  /** Headers with a signature, or covered by it. */
  readonly signedHeaders: readonly string[]
  send(payload: string, at: number, secret?: string): Sent
}

export const text = "correct horse battery staple"
export const hexKey = "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056"
export const base64Key = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="

export type Digest = "hex" | "base64" | "base64url"
export const mac = (hash: string, key: string | Buffer, encoding: Digest, ...parts: readonly string[]) => {
  const hmac = createHmac(hash, key)
  for (const part of parts) hmac.update(part)
  return hmac.digest(encoding)
}

/** One header with an HMAC-SHA256 of the body. */
export function plain(provider: string, header: string, encoding: Digest, prefix = "", hash = "sha256"): Sender {
  return {
    provider,
    secret: text,
    covers: "body",
    signedHeaders: [header],
    send: (body, _at, secret = text) => ({ body, headers: { [header]: prefix + mac(hash, secret, encoding, body) } }),
  }
}

/** A timestamp header, and a signature over timestamp and body. */
export function timed(
  provider: string,
  header: string,
  timeHeader: string,
  encoding: Digest,
  window_s: number,
  stamp: (at: number) => string,
  signed: (time: string, body: string) => string,
  prefix = "",
): Sender {
  return {
    provider,
    secret: text,
    covers: "body",
    window_s,
    signedHeaders: [header, timeHeader],
    send(body, at, secret = text) {
      const time = stamp(at)
      return { body, headers: { [timeHeader]: time, [header]: prefix + mac("sha256", secret, encoding, signed(time, body)) } }
    },
  }
}

/** Timestamp and signature in one header. */
export function parted(
  provider: string,
  header: string,
  window_s: number,
  stamp: (at: number) => string,
  signed: (time: string, body: string) => string,
  write: (time: string, signature: string) => string,
  encoding: Digest = "hex",
): Sender {
  return {
    provider,
    secret: text,
    covers: "body",
    window_s,
    signedHeaders: [header],
    send(body, at, secret = text) {
      const time = stamp(at)
      return { body, headers: { [header]: write(time, mac("sha256", secret, encoding, signed(time, body))) } }
    },
  }
}

export function standard(provider: string, family: "svix" | "webhook"): Sender {
  const secret = `whsec_${base64Key}`
  return {
    provider,
    secret,
    covers: "body",
    window_s: 300,
    signedHeaders: ["id", "timestamp", "signature"].map((name) => `${family}-${name}`),
    send(body, at, input = secret) {
      const time = seconds(at)
      const signature = mac("sha256", Buffer.from(input.replace("whsec_", ""), "base64"), "base64", `msg_1.${time}.${body}`)
      return { body, headers: { [`${family}-id`]: "msg_1", [`${family}-timestamp`]: time, [`${family}-signature`]: `v1,${signature}` } }
    },
  }
}

export const seconds = (at: number) => String(Math.floor(at / 1_000))
export const millis = (at: number) => String(at)
export const iso = (at: number) => new Date(at).toISOString()
export const nanos = (at: number) => new Date(at).toISOString().replace("Z", "634364Z")
