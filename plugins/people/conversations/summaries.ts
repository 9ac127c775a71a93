// Conversations for readers: the stored fields, plus live fields from elsewhere. The profile name comes from the newest message,
// and the opt-out from the ledger. The agent comes from the number, and the lead from its directory.
import { AppError, type Deps, type Filter, Pager, Store } from "#core"
import { type Channel, collections, type StoredConversation } from "./channels.ts"
import { ConversationLeads, type LeadOfAddress } from "./leads.ts"
import { newestFirst, type StoredMessage } from "./messages.ts"
import { type PhoneNumber, PhoneNumbers } from "./numbers/phone-number.ts"
import { OptOuts } from "./opt-out/ledger.ts"
import { personKey, writtenAs } from "./phone.ts"

/** A conversation with its live fields. */
export interface ReadConversation {
  readonly conversation: StoredConversation
  readonly display_name: string
  readonly suppressed: boolean
  readonly number: PhoneNumber | undefined
  readonly lead: LeadOfAddress | undefined
}

export interface ListRequest {
  readonly phone_number: string
  readonly address: string
  readonly canonical_lead_id: string
  readonly limit: number
  readonly cursor: string
}

export class Summaries {
  static readonly inject = { store: Store, pager: Pager, numbers: PhoneNumbers, optOuts: OptOuts, leads: ConversationLeads }
  readonly #services: Deps<typeof Summaries.inject>

  constructor(services: Deps<typeof Summaries.inject>) {
    this.#services = services
  }

  /** Returns a page, most recently active first. */
  async page(
    organization: string,
    channel: Channel,
    { limit, cursor, ...filters }: ListRequest,
  ): Promise<{ conversations: ReadConversation[]; next_cursor: string }> {
    const filter = await this.#filterOf(organization, filters)
    if (filter === undefined) return { conversations: [], next_cursor: "" }
    const page = await this.#services.pager.page({
      collection: this.#services.store.open(collections[channel].conversations, organization),
      organization,
      cursorScope: `conversations ${channel} ${JSON.stringify(filters)}`,
      filter,
      sort: { activity_at: -1 },
      request: { limit, cursor },
    })
    return { conversations: await this.#read(organization, channel, page.items), next_cursor: page.next_cursor }
  }

  /** Throws `not_found`. */
  async require(organization: string, channel: Channel, id: string): Promise<ReadConversation> {
    const stored = await this.#services.store.open(collections[channel].conversations, organization).get(id)
    const [read] = stored ? await this.#read(organization, channel, [stored]) : []
    if (read) return read
    const path = channel === "chat_app" ? "chatapp-conversations" : "text-conversations"
    throw new AppError("not_found", `The organization has no such conversation; GET /v1/voice/${path} lists them.`, {
      reason: "conversation_not_found",
    })
  }

  /** Returns a page of messages, newest first. */
  messages(organization: string, channel: Channel, id: string, request: { limit: number; cursor: string }) {
    return this.#services.pager.page<StoredMessage>({
      collection: this.#services.store.open(collections[channel].messages, organization),
      organization,
      cursorScope: `conversation ${id}`,
      filter: { conversation_id: id },
      sort: newestFirst,
      request,
    })
  }

  /** Returns undefined if no conversation can match. */
  async #filterOf(organization: string, filters: Omit<ListRequest, "limit" | "cursor">): Promise<Filter | undefined> {
    const { phone_number, address, canonical_lead_id } = filters
    const own: Filter = phone_number === "" ? {} : { number: phone_number }
    if (canonical_lead_id === "") return address === "" ? own : { ...own, address: writtenAs([address]) }
    const known = await this.#services.leads.addressesOf(organization, canonical_lead_id)
    const wanted = address === "" ? known : known.filter((one) => personKey(one) === personKey(address))
    return wanted.length === 0 ? undefined : { ...own, address: writtenAs(wanted) }
  }

  async #read(organization: string, channel: Channel, found: readonly StoredConversation[]): Promise<ReadConversation[]> {
    const { store, numbers, optOuts, leads } = this.#services
    const addresses = [...new Set(found.map(({ address }) => address))]
    const newest = found.flatMap(({ last_inbound_message_id: id }) => (id === null ? [] : [id]))
    const messages = store.open(collections[channel].messages, organization)
    const [suppressed, own, known, named] = await Promise.all([
      optOuts.suppressed(organization, channel, addresses),
      numbers.among(
        organization,
        found.map(({ number }) => number),
      ),
      leads.ofAddresses(organization, addresses),
      newest.length === 0 ? [] : messages.find({ id: { $in: newest } }, { limit: newest.length }),
    ])
    const names = new Map(named.map(({ id, profile_name }) => [id, profile_name]))
    return found.map((conversation) => ({
      conversation,
      display_name: names.get(conversation.last_inbound_message_id ?? "") ?? "",
      suppressed: suppressed.has(conversation.address),
      number: own.get(conversation.number),
      lead: known.get(conversation.address),
    }))
  }
}
