// Stored fields of a message, in either direction.
import type { Document, Json } from "#core"
import type { DeliveryState } from "./receipts.ts"

export const messageKinds = [
  ...["text", "image", "audio", "video", "document", "sticker", "location", "contacts", "reaction", "button"],
  ...["interactive", "template", "other"],
] as const
export type MessageKind = (typeof messageKinds)[number]

export interface Location {
  latitude: number
  longitude: number
  name: string
  address: string
}

/** The answered message, or a mark of a forwarded message. */
export interface Context {
  provider_message_id: string
  forwarded: boolean
}

/** The advertisement or post at the start of the conversation. */
export interface Referral {
  source_type: string
  source_id: string
  source_url: string
  headline: string
  body: string
  click_id: string
}

/** An empty emoji removes a reaction. */
export interface Reaction {
  provider_message_id: string
  emoji: string
}

export const mediaStates = ["pending", "stored", "refused", "failed"] as const

export interface Media {
  /** According to the provider. */
  media_type: string
  file_name: string
  /** The provider's id of the file, or its URL. */
  source: string
  state: (typeof mediaStates)[number]
  /** Reason for the missing file. */
  problem: string
  size: number
  /** Key in the bucket. Empty while the file is missing. */
  key: string
}

export interface DeliveryError {
  code: string
  message: string
}

/** The requested template, in the provider's format. */
export interface Template {
  name: string
  language: string
  components: Json[]
}

export interface StoredMessage extends Document {
  conversation_id: string
  direction: "in" | "out"
  /** Time the person sent the message, or the service accepted it for sending. */
  at: string
  /**
   * Time the provider accepted a sent message, or may have accepted it. Absent in received messages and in messages of older
   * versions.
   */
  sent_at?: string | null
  /** Orders messages of one time by their arrival: time, event and place in the delivery. Absent in messages of older versions. */
  arrival?: string
  /** The provider's id. Null before the provider's answer. */
  provider_id: string | null
  kind: MessageKind
  text: string
  profile_name: string
  location: Location | null
  context: Context | null
  referral: Referral | null
  reaction: Reaction | null
  /** Content without a field of its own, for kinds such as `contacts`. */
  content: Json
  media: Media[]
  template: Template | null
  state: DeliveryState
  error: DeliveryError | null
  changed_at: string
}

/** Matches outgoing messages that no provider accepted. */
export const unsent = {
  state: { $in: ["queued", "sending", "refused", "failed"] },
  $or: [{ state: { $ne: "failed" } }, { provider_id: null }],
} as const

/** Matches outgoing messages that a provider accepted, or may have accepted. */
export const accepted = {
  state: { $in: ["unknown", "accepted", "sent", "failed", "delivered", "read"] },
  $or: [{ state: { $ne: "failed" } }, { provider_id: { $ne: null } }],
} as const

/** Returns the send time of an outgoing message. Returns undefined if no provider accepted the message. */
export function sentTime({ state, provider_id, sent_at, at }: StoredMessage): string | undefined {
  const isUnsent = state === "failed" ? provider_id === null : (unsent.state.$in as readonly string[]).includes(state)
  return isUnsent ? undefined : (sent_at ?? at)
}

/** Newest first. A chat app's times are in seconds, so the arrival orders messages of the same second. */
export const newestFirst = { at: -1, arrival: -1 } as const
export const newestSentFirst = { sent_at: -1, ...newestFirst } as const
export const oldestFirst = { at: 1, arrival: 1 } as const
