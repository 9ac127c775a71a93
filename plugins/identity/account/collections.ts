// The stored form of changes of an address.
import { type Document, defineCollection, derivedUuid } from "#core"

/** A pending change; its id follows from the user's. */
export interface AddressChange extends Document {
  email: string
  /** HMAC of the code. */
  code_hash: string
  wrong_tries: number
  created_at: string
  expires_at: string
}

export const AddressChangesCollection = defineCollection<AddressChange>()({
  name: "address_changes",
  scope: "global",
  times: ["created_at", "expires_at"],
  indexes: [],
  expires: "expires_at",
})

/** A user has one pending change. */
export function changeId(user: string): string {
  return derivedUuid("address change", user)
}
