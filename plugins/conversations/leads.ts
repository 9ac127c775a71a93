// Who a person is among the organization's leads. A plugin that keeps leads answers; without one nobody is known.
import { token, type UnitOfWork } from "#core"
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
  /** The leads of these numbers (E.164), by number; unknown ones are left out. */
  ofAddresses(organization: string, addresses: readonly string[]): Promise<ReadonlyMap<string, LeadOfAddress>>
  /** IANA; empty where it is not known. */
  timeZoneOf?(organization: string, address: string): Promise<string>
  /** Every number of a lead, by its UUID or 22-character reference; none for an unknown lead. */
  addressesOf(organization: string, lead: string): Promise<readonly string[]>
  /** Told of a person who wrote; the same may be told again. `stage` adds to the commit, which it may have refused. */
  seen?(organization: string, person: SeenPerson, stage: (work: UnitOfWork) => void): Promise<void>
}

export interface ConversationLeads extends Required<LeadDirectory> {
  /** To be called while services are created. */
  use(directory: LeadDirectory): void
}

export const ConversationLeads = token<ConversationLeads>("ConversationLeads")

export function createConversationLeads(): ConversationLeads {
  let directory: LeadDirectory | undefined
  return {
    ofAddresses: async (organization, addresses) => {
      const numbers = addresses.filter((address) => !isUserId(address))
      return (await directory?.ofAddresses(organization, numbers)) ?? new Map()
    },
    timeZoneOf: async (organization, address) => (isUserId(address) ? "" : ((await directory?.timeZoneOf?.(organization, address)) ?? "")),
    addressesOf: async (organization, lead) => (await directory?.addressesOf(organization, lead)) ?? [],
    // Leads are found by phone number and mail address. A person with a user ID alone has neither.
    seen: async (organization, person, stage) => {
      if (!isUserId(person.address)) await directory?.seen?.(organization, person, stage)
    },
    use: (given) => {
      directory = given
    },
  }
}
