// Assigns messages to conversations: by the referenced messages, else by the address of the other side.
import { domainToASCII } from "node:url"
import { Clock, changesOf, type Deps, defineChannel, derivedUuid, Live, Store, timestamp, type UnitOfWork } from "#core"
import { ConversationCollection, conversationId, MessageCollection, type StoredConversation, type StoredMessage } from "./collections.ts"

export const conversationsChannel = defineChannel({
  name: "email_conversations",
  scope: "email_conversations:read",
  summary: "Messages that are received into conversations by mail: their ids.",
})

const maxPreview = 200

export type NewMessage = Omit<StoredMessage, "id" | "conversation_id"> & {
  /** Set for an inbound message. An outbound message is identified by its Message-ID. */
  readonly id?: string
  /** Message-IDs, nearest first. */
  readonly references: readonly string[]
  /** The sending domain of either direction. */
  readonly domain: string
}

export class Conversations {
  static readonly inject = { store: Store, clock: Clock, live: Live }
  readonly #services: Deps<typeof Conversations.inject>

  constructor(services: Deps<typeof Conversations.inject>) {
    this.#services = services
  }

  /** Stages a message once. A concurrent message in the conversation makes the commit `aborted`. */
  async add(work: UnitOfWork, organization: string, { references, domain, ...given }: NewMessage): Promise<StoredMessage> {
    const messages = this.#services.store.open(MessageCollection, organization)
    const id = given.id ?? derivedUuid("outbound mail", organization, given.message_id)
    const earlier = await messages.get(id)
    if (earlier) return earlier
    const other = given.direction === "inbound" ? given.from : given.to[0]
    const address = normalAddress(other?.address ?? "")
    const answered = references.length > 0 ? await messages.first({ message_id: { $in: references } }, { sort: { at: -1 } }) : undefined
    const conversation_id = answered?.conversation_id ?? conversationId(organization, address)
    const message: StoredMessage = { ...given, id, conversation_id }
    work.in(MessageCollection, organization).insert(message)
    const before = await this.#services.store.open(ConversationCollection, organization).get(conversation_id)
    this.#stage(work, organization, before, message, { address, name: other?.name ?? "", domain })
    return message
  }

  #stage(
    work: UnitOfWork,
    organization: string,
    before: StoredConversation | undefined,
    message: StoredMessage,
    { address, name, domain }: Pick<StoredConversation, "address" | "name" | "domain">,
  ): void {
    const { clock, live } = this.#services
    const { id: message_id, conversation_id: id, direction, at, subject, text } = message
    const updated_at = timestamp(clock.now())
    const last = {
      last_message_at: at,
      last_direction: direction,
      last_preview: text
        .replace(/\s+/g, " ")
        .trim()
        .slice(0, maxPreview)
        .replace(/[\ud800-\udbff]$/, ""),
      domain,
    }
    const conversations = work.in(ConversationCollection, organization)
    if (before) {
      const change = {
        ...(at >= before.last_message_at ? last : {}),
        ...(message.inbound?.quarantined === false && before.address === address && name !== "" ? { name } : {}),
        message_count: before.message_count + 1,
        answered: before.answered || direction === "inbound",
        revision: before.revision + 1,
        updated_at,
      }
      conversations.update(id, { $set: changesOf(change) }, { where: { revision: before.revision } })
    } else {
      const answered = direction === "inbound"
      conversations.insert({
        id,
        address,
        name,
        subject,
        ...last,
        message_count: 1,
        answered,
        revision: 1,
        created_at: updated_at,
        updated_at,
      })
    }
    if (direction === "outbound") return
    live.stage(work, organization, { channel: conversationsChannel.name, event: "message", data: { conversation_id: id, message_id, at } })
  }
}

/** Normalizes an address: lower case, NFC, the domain in punycode. */
export function normalAddress(address: string): string {
  const at = address.lastIndexOf("@")
  const domain = address.slice(at + 1)
  return `${address
    .slice(0, at + 1)
    .normalize("NFC")
    .toLowerCase()}${domainToASCII(domain) || domain.toLowerCase()}`
}
