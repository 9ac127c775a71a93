// Conversations by chat app and text message: received messages, opt-outs, and the only way to send a message.
import { defineJob, definePlugin, injected, Store, type UnitOfWork, UnitsOfWork } from "#core"
import { CallGuards } from "../../agents/integrations/index.ts"
import { Announcements, liveChannels } from "./announcements.ts"
import { collections, foldJob, settleJob } from "./channels.ts"
import { closeConversation } from "./digest/digest.ts"
import { EarlierAddressCollection, EarlierAddresses } from "./earlier-addresses.ts"
import { EgressGate } from "./egress/gate.ts"
import { lineGuard } from "./egress/line-guard.ts"
import { Outbox } from "./egress/outbox.ts"
import { Sender, sendMessage } from "./egress/sender.ts"
import { Folds } from "./fold/fold.ts"
import { Settlements } from "./fold/settle.ts"
import { ConversationHistory, conversationHistory } from "./history.ts"
import { moveConversations } from "./inbound/move.ts"
import { Receiver, receivePiece } from "./inbound/receiver.ts"
import { ConversationLeads, createConversationLeads, LeadDirectories } from "./leads.ts"
import { fetchMessageMedia } from "./media/job.ts"
import { PhoneNumberResource, PhoneNumbers } from "./numbers/phone-number.ts"
import { getChatAppConversation, getTextConversation, listChatAppConversations, listTextConversations } from "./operations/conversations.ts"
import { deleteChatAppConversation, deleteTextConversation } from "./operations/deletion.ts"
import { linkToOptOut, listOptOuts, recordOptOut } from "./operations/opt-outs.ts"
import { sendToPerson } from "./operations/send.ts"
import { listTemplates, refreshTemplates } from "./operations/templates.ts"
import { OptOuts } from "./opt-out/ledger.ts"
import { OptOutLinks } from "./opt-out/link.ts"
import { askToOptOut, optOutByLink } from "./opt-out/link-routes.ts"
import { reasons } from "./reasons.ts"
import { ConversationErasure, purgeMessages, RemovalCollection, Removals, removeOldMessages } from "./removal/removals.ts"
import { ConversationSettings, ConversationSettingsToken } from "./settings.ts"
import { ConversationStanding, conversationStanding, conversationStandingNeeds } from "./standing.ts"
import { Summaries } from "./summaries.ts"
import { syncTemplates, TemplateCollection } from "./templates.ts"
import { OutboundVetoes } from "./vetoes.ts"

export type { Finding } from "./egress/gate.ts"
export { ConversationHistory } from "./history.ts"
export { type Provider, providers, Receiver } from "./inbound/receiver.ts"
export { ConversationLeads, LeadDirectories, type LeadDirectory, type LeadOfAddress } from "./leads.ts"
export { OptOutLinks } from "./opt-out/link.ts"
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
    registrar.provide(EarlierAddresses)
    registrar.provide(ConversationSettingsToken, { create: () => settings })
    registrar.provide(ConversationLeads, { inject: { directories: LeadDirectories }, create: createConversationLeads })
    registrar.provide(ConversationStanding, { inject: conversationStandingNeeds, create: conversationStanding })
    registrar.provide(ConversationHistory, { inject: { store: Store }, create: ({ store }) => conversationHistory(store) })
    registrar.provide(PhoneNumbers)
    registrar.provide(Announcements)
    registrar.provide(OptOuts)
    registrar.provide(OptOutLinks)
    registrar.provide(Removals)
    registrar.provide(ConversationErasure, {
      inject: { removals: Removals },
      create:
        ({ removals }) =>
        (organization, address, signal) =>
          removals.erase(organization, address, signal),
    })
    registrar.provide(Folds, { create: (deps) => new Folds({ ...deps, idleMs: settings.idle_minutes * 60_000 }) })
    registrar.provide(Settlements)
    registrar.provide(Receiver)
    registrar.provide(Summaries)
    registrar.provide(EgressGate, { create: (deps) => new EgressGate({ ...deps, settings }) })
    registrar.provide(Outbox)
    registrar.provide(Sender, { create: (deps) => new Sender({ ...deps, settings }) })
  },
})

const foldConversation = defineJob(foldJob, {
  summary: "Brings a conversation up to date with its messages.",
  inject: { folds: Folds, works: UnitsOfWork, leads: ConversationLeads, removals: Removals },
  async run({ payload: { channel, conversation_id, ends, sent }, organization = "", deps: { folds, works, leads, removals } }) {
    if (ends && sent !== undefined) await removals.removeLate(organization, channel, sent, ends)
    await works.retryConflicts((work) => folds.stage(work, organization, channel, conversation_id, ends))
    const author = await folds.author(organization, channel, conversation_id)
    // Keeps people erased meanwhile from becoming leads again.
    const stage = (work: UnitOfWork) => folds.stageTold(work, organization, channel, conversation_id)
    if (author) await leads.seen(organization, author, stage)
  },
})

const settleMessage = defineJob(settleJob, {
  summary: "Brings a sent message up to date with the reports about it.",
  inject: { settlements: Settlements, works: UnitsOfWork },
  run: ({ payload: { channel, ...of }, organization = "", deps }) =>
    deps.works.retryConflicts((work) => deps.settlements.stage(work, organization, channel, of)),
})
