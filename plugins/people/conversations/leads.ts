// Maps people to the organization's leads. A plugin with leads implements the interface. Without a plugin, no person is known.
import { defineExtensionPoint, token, type UnitOfWork } from "#core"
import { isUserId } from "./phone.ts"

export interface LeadOfAddress {
  readonly canonical_lead_id: string
  readonly lead_reference: string
}

export interface SeenPerson {
  readonly address: string
  readonly name: string
  readonly at: string
}

export interface LeadDirectory {
  /** Returns the leads of these numbers (E.164), by number. Leaves out unknown numbers. */
  ofAddresses(organization: string, addresses: readonly string[]): Promise<ReadonlyMap<string, LeadOfAddress>>
  /** Returns the IANA zone, or an empty text if unknown. */
  timeZoneOf?(organization: string, address: string): Promise<string>
  /** Returns all numbers of a lead, by its UUID or 22-character reference. Empty for an unknown lead. */
  addressesOf(organization: string, lead: string): Promise<readonly string[]>
  /** Reports a person's message. The call may repeat. `stage` adds to the commit and can make it fail. */
  seen?(organization: string, person: SeenPerson, stage: (work: UnitOfWork) => void): Promise<void>
}

/** The last registered directory is used. */
export const LeadDirectories = defineExtensionPoint<LeadDirectory>({ id: "conversations.lead-directories" })

export type ConversationLeads = Required<LeadDirectory>

export const ConversationLeads = token<ConversationLeads>("ConversationLeads")

export function createConversationLeads({ directories }: { readonly directories: readonly LeadDirectory[] }): ConversationLeads {
  return {
    ofAddresses: async (organization, addresses) => {
      const numbers = addresses.filter((address) => !isUserId(address))
      return (await directories.at(-1)?.ofAddresses(organization, numbers)) ?? new Map()
    },
    timeZoneOf: async (organization, address) =>
      isUserId(address) ? "" : ((await directories.at(-1)?.timeZoneOf?.(organization, address)) ?? ""),
    addressesOf: async (organization, lead) => (await directories.at(-1)?.addressesOf(organization, lead)) ?? [],
    // Leads are found by phone number and mail address. A person with only a user ID has neither.
    seen: async (organization, person, stage) => {
      if (!isUserId(person.address)) await directories.at(-1)?.seen?.(organization, person, stage)
    },
  }
}
