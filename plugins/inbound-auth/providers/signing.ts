// The usual signing schemes, so that a row of the table says only what is its own.
import type { Encoding } from "../checks/encoding.ts"
import { defaultTolerance_s, type TimestampRule, type TimeUnit } from "../checks/timestamp.ts"
import type { DigestScheme } from "../schemes/scheme.ts"

type Rest = Partial<Omit<DigestScheme, "kind" | "signature" | "timestamp">> & { readonly prefix?: string }

/** HMAC-SHA256 over the body (unless `rest` says otherwise), one signature in one header. */
export function hmacHeader(header: string, encoding: Encoding, { prefix, ...rest }: Rest = {}): DigestScheme {
  return {
    kind: "hmac",
    hash: "sha256",
    key: "utf8",
    signed: "{body}",
    ...rest,
    signature: { at: [`header:${header}`], encoding, ...(prefix !== undefined && { prefix }) },
  }
}

/** The same with a signed timestamp in a header of its own. */
export function hmacWithTime(
  header: string,
  encoding: Encoding,
  timestamp: TimestampRule,
  rest: Rest & { readonly signed: string },
): DigestScheme {
  return { ...hmacHeader(header, encoding, rest), kind: "hmac_timestamped", timestamp }
}

/** Signature and timestamp as `key=value` parts of one header. */
export function hmacParts(
  header: string,
  parts: { readonly time: string; readonly signature: string; readonly separator?: string | RegExp },
  timestamp: TimestampRule,
  rest: { readonly signed: string; readonly encoding?: Encoding },
): DigestScheme {
  return {
    kind: "hmac_timestamped",
    hash: "sha256",
    key: "utf8",
    signed: rest.signed,
    timestamp,
    signature: {
      at: [`header:${header}`],
      encoding: rest.encoding ?? "hex",
      separator: parts.separator ?? ",",
      keys: { signature: parts.signature, timestamp: parts.time },
    },
  }
}

export function timeIn(place: string, unit: TimeUnit, tolerance_s: number = defaultTolerance_s): TimestampRule {
  return { at: [place], unit, tolerance_s }
}

export const timePart = (unit: TimeUnit, tolerance_s: number = defaultTolerance_s): TimestampRule => timeIn("part", unit, tolerance_s)
