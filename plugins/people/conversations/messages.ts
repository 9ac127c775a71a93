// What is kept of a message, in either direction.
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

/** What a message answers, or that it was forwarded. */
export interface Context {
  provider_message_id: string
  forwarded: boolean
}

/** The advertisement or post by which the person began. */
export interface Referral {
  source_type: string
  source_id: string
  source_url: string
  headline: string
  body: string
  click_id: string
}

/** An empty emoji takes a reaction back. */
export interface Reaction {
  provider_message_id: string
  emoji: string
}

export const mediaStates = ["pending", "stored", "refused", "failed"] as const

export interface Media {
  /** As the provider says. */
  media_type: string
  file_name: string
  /** The provider's id of the file, or its URL. */
  source: string
  state: (typeof mediaStates)[number]
  /** Why the file is missing. */
  problem: string
  size: number
  /** In the bucket; empty while the file is missing. */
  key: string
}

export interface DeliveryError {
  code: string
  message: string
}

/** What was asked to be sent, as the provider is given it. */
export interface Template {
  name: string
  language: string
  components: Json[]
}

export interface StoredMessage extends Document {
  conversation_id: string
  direction: "in" | "out"
  /** When the person sent it, or when it was asked to be sent. */
  at: string
  /** When the provider accepted a message of the organization, or may have done so. Absent in received messages and in those of older versions. */
  sent_at?: string | null
  /** Orders messages of one time by their arrival: time, event and place in the delivery. Absent in messages of older versions. */
  arrival?: string
  /** The provider's id; null until it has given one. */
  provider_id: string | null
  kind: MessageKind
  text: string
  profile_name: string
  location: Location | null
  context: Context | null
  referral: Referral | null
  reaction: Reaction | null
  /** What the other fields do not hold, of kinds such as `contacts`. */
  content: Json
  media: Media[]
  template: Template | null
  state: DeliveryState
  error: DeliveryError | null
  changed_at: string
}

/** Matches messages of the organization that no provider accepted. */
export const unsent = {
  state: { $in: ["queued", "sending", "refused", "failed"] },
  $or: [{ state: { $ne: "failed" } }, { provider_id: null }],
} as const

/** Matches messages of the organization that a provider accepted, or may have accepted. */
export const accepted = {
  state: { $in: ["unknown", "accepted", "sent", "failed", "delivered", "read"] },
  $or: [{ state: { $ne: "failed" } }, { provider_id: { $ne: null } }],
} as const

/** Returns when a message of the organization was sent. Returns undefined if no provider accepted the message. */
export function sentTime({ state, provider_id, sent_at, at }: StoredMessage): string | undefined {
  const isUnsent = state === "failed" ? provider_id === null : (unsent.state.$in as readonly string[]).includes(state)
  return isUnsent ? undefined : (sent_at ?? at)
}

/** Newest first. A chat app gives times in seconds, so the arrival decides within one. */
export const newestFirst = { at: -1, arrival: -1 } as const
export const newestSentFirst = { sent_at: -1, ...newestFirst } as const
export const oldestFirst = { at: 1, arrival: 1 } as const
