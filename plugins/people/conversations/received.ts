// A provider's delivery in the common form of both channels.
import { isRecord, type Json } from "#core"
import type { Channel } from "./channels.ts"
import type { DeliveryError, StoredMessage } from "./messages.ts"
import type { DeliveryState } from "./receipts.ts"

/** The service's own number: the provider's spelling, or the provider's id. */
export interface OwnNumber {
  readonly number: string
  readonly phone_number_id: string
}

type StoredParts = "direction" | "state" | "kind" | "text" | "profile_name" | "location" | "context" | "referral" | "reaction"

export interface ReceivedMessage extends Pick<StoredMessage, StoredParts | "content" | "at"> {
  readonly own: OwnNumber
  /** The person's phone number, or their user ID. */
  readonly address: string
  /** The user ID of a person with a phone number. Empty if the provider sent no user ID. */
  readonly user_id: string
  readonly provider_id: string
  /** True if the delivery has the file of an earlier placeholder. */
  readonly replacesPlaceholder?: boolean
  readonly media: readonly { readonly media_type: string; readonly file_name: string; readonly source: string }[]
  /** The provider's own classification of the message. */
  readonly preference?: "opt_out" | "opt_in" | "none"
}

export interface ReceivedStatus {
  readonly provider_id: string
  readonly message_id: string | null
  readonly state: DeliveryState
  readonly at: string
  readonly error: DeliveryError | null
}

/** A choice of the person in the provider's own settings. */
export interface ReceivedPreference {
  readonly address: string
  readonly kind: "opt_out" | "opt_in"
  readonly at: string
  readonly wording: string
}

/** Another address of one person: a new phone number or user ID. */
export interface AddressChange {
  readonly from: string
  readonly to: string
  /** Messages at `from` until this time belong to the person at `to`. */
  readonly at: string
  readonly wording: string
  readonly provider_id: string
}

export interface Delivery {
  readonly channel: Channel
  readonly changes: readonly AddressChange[]
  readonly messages: readonly ReceivedMessage[]
  readonly statuses: readonly ReceivedStatus[]
  readonly preferences: readonly ReceivedPreference[]
  /** Number of parts in an unknown form or without a message. */
  readonly ignored: number
}

/** Limit of stored text, characters. */
const maxText = 65_536
const maxContent = 16_384

export type Fields = Readonly<Record<string, Json | undefined>>

export function fieldsOf(value: Json | undefined): Fields {
  return isRecord(value) ? value : {}
}

export function listOf(value: Json | undefined): readonly Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : []
}

export function textOf(value: Json | undefined, max = maxText): string {
  const text = typeof value === "string" ? value : typeof value === "number" ? String(value) : ""
  return text.slice(0, max).toWellFormed()
}

export function numberOf(value: Json | undefined): number | undefined {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value
  return typeof number === "number" && Number.isFinite(number) ? number : undefined
}

/** Returns null if the content is too large for storage with a message. */
export function contentOf(value: Json | undefined): Json {
  return value !== undefined && JSON.stringify(value).length <= maxContent ? value : null
}

/** Returns undefined for coordinates out of range. */
export function placeOf(latitude: Json | undefined, longitude: Json | undefined): { latitude: number; longitude: number } | undefined {
  const [north, east] = [numberOf(latitude), numberOf(longitude)]
  if (north === undefined || east === undefined || Math.abs(north) > 90 || Math.abs(east) > 180) return undefined
  return { latitude: north, longitude: east }
}

export const nothing = {
  direction: "in",
  state: "received",
  user_id: "",
  text: "",
  profile_name: "",
  location: null,
  context: null,
  referral: null,
  reaction: null,
  content: null,
  media: [],
} as const
