// The stored form of changes of an address.
import { defineCollection, derivedUuid } from "#core"
import type { MailedCode } from "../mailed-code.ts"

/** A pending change; its id follows from the user's. */
export interface AddressChange extends MailedCode {
  email: string
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
