// Conversations by chat app and text message: what people write, what they refuse, and the one way by which they are written to.
import { Clock, definePlugin, injected, JobQueue, Live, Pager, PublicUrl, RateLimiter, Store, UnitsOfWork } from "#core"
import { CallGuards, Integrations } from "../../agents/integrations/index.ts"
import { Buckets } from "../../data/buckets/index.ts"
import { Keys } from "../suppressions/index.ts"
import { Announcements, AnnouncementsToken, liveChannels } from "./announcements.ts"
import { collections } from "./channels.ts"
import { closeConversation } from "./digest/close.ts"
import { EarlierAddressCollection, EarlierAddresses, EarlierAddressesToken } from "./earlier-addresses.ts"
import { EgressGate, EgressGateToken } from "./egress/gate.ts"
import { lineGuard } from "./egress/line-guard.ts"
import { Outbox, OutboxToken } from "./egress/outbox.ts"
import { Sender, SenderToken, sendMessage } from "./egress/sender.ts"
import { Folds, FoldsToken } from "./fold/fold.ts"
import { foldConversation, settleMessage } from "./fold/jobs.ts"
import { Settlements, SettlementsToken } from "./fold/settle.ts"
import { ConversationHistory, conversationHistory } from "./history.ts"
import { moveConversations } from "./inbound/move.ts"
import { receivePiece } from "./inbound/piece.ts"
import { Receiver, ReceiverToken } from "./inbound/receiver.ts"
import { ConversationLeads, createConversationLeads, LeadDirectories } from "./leads.ts"
import { fetchMessageMedia } from "./media/job.ts"
import { PhoneNumbers, PhoneNumbersToken } from "./numbers/numbers.ts"
import { PhoneNumberResource } from "./numbers/phone-number.ts"
import { getChatAppConversation, getTextConversation, listChatAppConversations, listTextConversations } from "./operations/conversations.ts"
import { deleteChatAppConversation, deleteTextConversation } from "./operations/deletion.ts"
import { linkToOptOut, listOptOuts, recordOptOut } from "./operations/opt-outs.ts"
import { sendToPerson } from "./operations/send.ts"
import { listTemplates, refreshTemplates } from "./operations/templates.ts"
import { OptOuts, OptOutsToken } from "./opt-out/ledger.ts"
import { OptOutLinks, OptOutLinksToken } from "./opt-out/link.ts"
import { askToOptOut, optOutByLink } from "./opt-out/link-routes.ts"
import { reasons } from "./reasons.ts"
import { purgeMessages, removeOldMessages } from "./removal/jobs.ts"
import { ConversationErasure, RemovalCollection, Removals, RemovalsToken } from "./removal/removals.ts"
import { ConversationSettings, ConversationSettingsToken } from "./settings.ts"
import { ConversationStanding, conversationStanding } from "./standing.ts"
import { Summaries, SummariesToken } from "./summaries.ts"
import { TemplateCollection } from "./templates/collections.ts"
import { syncTemplates } from "./templates/sync.ts"
import { OutboundVetoes } from "./vetoes.ts"

export type { Finding } from "./egress/gate.ts"
export { ConversationHistory } from "./history.ts"
export { type Provider, providers, ReceiverToken } from "./inbound/receiver.ts"
export { ConversationLeads, LeadDirectories, type LeadDirectory, type LeadOfAddress } from "./leads.ts"
export { OptOutLinksToken } from "./opt-out/link.ts"
export { E164, e164Of, formsOf, personKey } from "./phone.ts"
export { ConversationErasure } from "./removal/removals.ts"
export { ConversationStanding } from "./standing.ts"
export { type AskVeto, type OutboundMessage, OutboundVetoes, type Veto } from "./vetoes.ts"

export default definePlugin({
  id: "conversations",
  reasons,
  needs: ["buckets", "integrations", "models", "organizations", "outgoing-http", "suppressions"],
  config: ConversationSettings,
  extensionPoints: [LeadDirectories, OutboundVetoes],
  extend: [[CallGuards, injected({ store: Store }, ({ store }) => lineGuard(store))]],
  register(registrar, settings) {
    registrar.collections(
      TemplateCollection,
      RemovalCollection,
      EarlierAddressCollection,
      ...Object.values(collections.chat_app),
      ...Object.values(collections.sms),
    )
    registrar.resources(PhoneNumberResource)
    registrar.operations(listChatAppConversations, getChatAppConversation, listTextConversations, getTextConversation)
    registrar.operations(deleteChatAppConversation, deleteTextConversation)
    registrar.routes(askToOptOut, optOutByLink)
    registrar.operations(listOptOuts, recordOptOut, linkToOptOut, sendToPerson, refreshTemplates, listTemplates)
    registrar.channels(...Object.values(liveChannels))
    registrar.jobs(purgeMessages, removeOldMessages)
    registrar.schedules({ name: "conversations.retention", cron: "20 3 * * *", job: removeOldMessages, payload: {} })
    registrar.jobs(foldConversation, settleMessage, sendMessage, syncTemplates, fetchMessageMedia, closeConversation)
    registrar.jobs(receivePiece, moveConversations)
    registrar.provide(EarlierAddressesToken, { inject: { store: Store }, create: (deps) => new EarlierAddresses(deps) })
    registrar.provide(ConversationSettingsToken, { create: () => settings })
    registrar.provide(ConversationLeads, { inject: { directories: LeadDirectories }, create: createConversationLeads })
    registrar.provide(ConversationStanding, {
      inject: { store: Store, numbers: PhoneNumbersToken, gate: EgressGateToken },
      create: conversationStanding,
    })
    registrar.provide(ConversationHistory, { inject: { store: Store }, create: ({ store }) => conversationHistory(store) })
    registrar.provide(PhoneNumbersToken, {
      inject: { store: Store },
      create: (deps) => new PhoneNumbers(deps),
    })
    registrar.provide(AnnouncementsToken, { inject: { live: Live }, create: (deps) => new Announcements(deps) })
    registrar.provide(OptOutsToken, {
      inject: { store: Store, clock: Clock, announcements: AnnouncementsToken },
      create: (deps) => new OptOuts(deps),
    })
    registrar.provide(OptOutLinksToken, { inject: { keys: Keys, publicUrl: PublicUrl }, create: (deps) => new OptOutLinks(deps) })
    registrar.provide(RemovalsToken, {
      inject: {
        store: Store,
        clock: Clock,
        queue: JobQueue,
        works: UnitsOfWork,
        buckets: Buckets,
        optOuts: OptOutsToken,
        earlierAddresses: EarlierAddressesToken,
        announcements: AnnouncementsToken,
        vetoes: OutboundVetoes,
      },
      create: (deps) => new Removals(deps),
    })
    registrar.provide(ConversationErasure, {
      inject: { removals: RemovalsToken },
      create:
        ({ removals }) =>
        (organization, address, signal) =>
          removals.erase(organization, address, signal),
    })
    registrar.provide(FoldsToken, {
      inject: { store: Store, queue: JobQueue, removals: RemovalsToken, announcements: AnnouncementsToken },
      create: (deps) => new Folds({ ...deps, idleMs: settings.idle_minutes * 60_000 }),
    })
    registrar.provide(SettlementsToken, {
      inject: { store: Store, clock: Clock, queue: JobQueue, optOuts: OptOutsToken, announcements: AnnouncementsToken },
      create: (deps) => new Settlements(deps),
    })
    registrar.provide(ReceiverToken, {
      inject: { store: Store, clock: Clock, queue: JobQueue, optOuts: OptOutsToken, earlierAddresses: EarlierAddressesToken },
      create: (deps) => new Receiver(deps),
    })
    registrar.provide(SummariesToken, {
      inject: { store: Store, pager: Pager, numbers: PhoneNumbersToken, optOuts: OptOutsToken, leads: ConversationLeads },
      create: (deps) => new Summaries(deps),
    })
    registrar.provide(EgressGateToken, {
      inject: { store: Store, clock: Clock, optOuts: OptOutsToken, vetoes: OutboundVetoes, leads: ConversationLeads },
      create: (deps) => new EgressGate({ ...deps, settings }),
    })
    registrar.provide(OutboxToken, {
      inject: { store: Store, clock: Clock, queue: JobQueue, gate: EgressGateToken, numbers: PhoneNumbersToken },
      create: (deps) => new Outbox(deps),
    })
    registrar.provide(SenderToken, {
      inject: {
        store: Store,
        clock: Clock,
        works: UnitsOfWork,
        queue: JobQueue,
        limiter: RateLimiter,
        integrations: Integrations,
        numbers: PhoneNumbersToken,
        optOuts: OptOutsToken,
        gate: EgressGateToken,
        announcements: AnnouncementsToken,
      },
      create: (deps) => new Sender({ ...deps, settings }),
    })
  },
})
