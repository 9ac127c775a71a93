// The subject of a consent: a mail address or phone number, and the channels of each.
import { z } from "zod"
import { AppError } from "#core"
import { normalEmail, normalPhone } from "../leads/index.ts"

export interface Person {
  readonly kind: "email" | "phone"
  readonly value: string
}

export const channels = ["email", "chat_app", "sms", "voice"] as const
export type Channel = (typeof channels)[number]

export function kindOf(channel: Channel): Person["kind"] {
  return channel === "email" ? "email" : "phone"
}

export const personFields = {
  email: z.string().trim().max(320).default("").describe("Mail address of the person."),
  phone: z
    .string()
    .trim()
    .max(40)
    .default("")
    .describe("Phone number of the person, with its country code or of the organization's region."),
}

interface Given {
  readonly email: string
  readonly phone: string
}

/** Throws `invalid_argument` unless exactly one of them is set and readable. */
export function personOf({ email, phone }: Given, region: string): Person {
  if ((email === "") === (phone === "")) throw unreadable("email", "or phone: give one of the two")
  if (email !== "") {
    const value = normalEmail(email)
    if (value !== undefined) return { kind: "email", value }
    throw unreadable("email", "is not a mail address")
  }
  const value = normalPhone(phone, region)
  if (value !== undefined) return { kind: "phone", value }
  throw unreadable("phone", "is not a phone number with its country code, or of the organization's region")
}

export function unreadable(path: string, message: string): AppError {
  return new AppError("invalid_argument", `${path} ${message}.`, { reason: "invalid_fields", fields: [{ path, message }] })
}
