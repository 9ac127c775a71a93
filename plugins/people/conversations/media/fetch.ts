// Fetches a message file with the credentials of the number's connection. Size and type are limited.
import { subtle } from "node:crypto"
import { AppError, type OutgoingResponse } from "#core"
import type { Integrations } from "../../../agents/integrations/index.ts"
import { outcomeOf } from "../../../platform/outgoing-http/index.ts"
import type { Channel } from "../channels.ts"
import type { Media } from "../messages.ts"
import type { PhoneNumber } from "../numbers/phone-number.ts"
import { fieldsOf, numberOf, textOf } from "../received.ts"

export interface FetchArgs {
  readonly organization: string
  readonly channel: Channel
  readonly number: PhoneNumber
  readonly media: Media
  readonly maxBytes: number
  readonly integrations: Integrations
  readonly signal: AbortSignal
}

export type Fetched =
  | { readonly bytes: Uint8Array; readonly ending: string; readonly media_type: string }
  | { readonly state: "refused" | "failed"; readonly problem: string }

/** Location and metadata of a file. */
interface Place {
  readonly url: string
  readonly media_type: string
  readonly size: number
  /** Hexadecimal. Empty if the provider sends no digest. */
  readonly sha256: string
}

/** Throws if a retry may succeed. */
export async function fetchMedia(args: FetchArgs): Promise<Fetched> {
  const { channel, number, media, maxBytes } = args
  // Meta identifies a file by id, Twilio by URL, also in the chat app.
  const isOfTwilio = channel === "sms" || /^https?:/i.test(media.source)
  const integration = isOfTwilio ? number.sms?.integration : number[channel]?.integration
  if (integration === undefined) return { state: "failed", problem: `${number.number} has no connection for this channel.` }
  try {
    const place = isOfTwilio ? { url: media.source, media_type: media.media_type, size: 0, sha256: "" } : await placeOf(args, integration)
    const ending = endingOf(place.media_type)
    if (ending === undefined) return { state: "refused", problem: `Files of the type ${place.media_type || "none"} are not taken.` }
    if (place.size > maxBytes) return { state: "refused", problem: `The file has ${place.size} bytes; ${maxBytes} are taken.` }
    const file = { method: "GET", path: "/", file: { url: place.url, maxBytes } }
    const bytes = bytesOf(await args.integrations.call(args.organization, integration, file, { signal: args.signal }))
    if (place.size > 0 && bytes.length !== place.size)
      return { state: "failed", problem: `The file has ${bytes.length} bytes, and not the ${place.size} that the provider described.` }
    if (place.sha256 !== "" && (await sha256(bytes)) !== place.sha256)
      return { state: "failed", problem: "The file is not the one that the provider described (SHA-256)." }
    return { bytes, ending, media_type: place.media_type }
  } catch (error) {
    if (!(error instanceof AppError) || error.details["retryable"] !== false) throw error
    const isTooLarge = error.details.reason === "response_too_large"
    return { state: isTooLarge ? "refused" : "failed", problem: isTooLarge ? `The file has more than ${maxBytes} bytes.` : error.message }
  }
}

/** Returns hexadecimal. Runs outside the main thread, because files are large. */
async function sha256(bytes: Uint8Array): Promise<string> {
  return Buffer.from(await subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>)).toString("hex")
}

/** Resolves Meta's file id to a URL. The URL is valid for five minutes. */
async function placeOf({ organization, number, media, integrations, signal }: FetchArgs, integration: string): Promise<Place> {
  const query = { phone_number_id: number.chat_app?.phone_number_id ?? "" }
  const request = { method: "GET", path: `/${encodeURIComponent(media.source)}`, query }
  const response = await integrations.call(organization, integration, request, { signal })
  outcomeOf(response)
  const answer = fieldsOf(response.json)
  const media_type = textOf(answer["mime_type"], 100) || media.media_type
  return {
    url: textOf(answer["url"], 4_000),
    media_type,
    size: numberOf(answer["file_size"]) ?? 0,
    sha256: textOf(answer["sha256"], 64).toLowerCase(),
  }
}

function bytesOf(response: OutgoingResponse): Uint8Array {
  outcomeOf(response)
  return response.bytes ?? new Uint8Array()
}

// Accepted file types, by the provider's media type. A browser executes no file of these types.

const endings: ReadonlyMap<string, string> = new Map([
  ["image/jpeg", "jpg"],
  ["image/png", "png"],
  ["image/webp", "webp"],
  ["image/gif", "gif"],
  ["audio/mpeg", "mp3"],
  ["audio/ogg", "ogg"],
  ["audio/mp4", "m4a"],
  ["audio/aac", "aac"],
  ["audio/amr", "amr"],
  ["video/mp4", "mp4"],
  ["video/3gpp", "3gp"],
  ["application/pdf", "pdf"],
  ["text/plain", "txt"],
  ["text/csv", "csv"],
  ["application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"],
  ["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"],
  ["application/vnd.openxmlformats-officedocument.presentationml.presentation", "pptx"],
])

/** Returns the ending for a bucket key, or undefined for other types. Ignores parameters such as `codecs=opus`. */
function endingOf(mediaType: string): string | undefined {
  return endings.get(mediaType.split(";")[0]?.trim().toLowerCase() ?? "")
}
