// Consents: a ledger of what people agreed to be written for, the one question whether they may be written to, and erasure.
import { z } from "zod"
import { Clock, definePlugin, injected, Store } from "#core"
import { RowGuards } from "../../data/datasets/index.ts"
import { DataGuards } from "../../platform/outgoing-http/index.ts"
import { OutboundVetoes } from "../conversations/index.ts"
import { MailGuards } from "../email/index.ts"
import { Leads, LeadTimeline } from "../leads/index.ts"
import { Suppressions } from "../suppressions/index.ts"
import { ConsentCollection, ConsentSettingsCollection, TombstoneCollection } from "./collections.ts"
import { mailGuard, messageVeto } from "./enforcement.ts"
import { erasedDataGuard } from "./erased-data.ts"
import { eraseTraces } from "./erasure.ts"
import { ConsentKeyCollection, ConsentKeys } from "./keys.ts"
import { Ledger } from "./ledger.ts"
import { checkConsent } from "./operations/check.ts"
import { erasePerson } from "./operations/erase.ts"
import { exportConsents, getConsentSettings, listConsents, recordConsent, setConsentSettings } from "./operations/ledger.ts"
import { reasons } from "./reasons.ts"
import { suppressionRule } from "./rules/others.ts"
import { type ConsentQuestion, ConsentRules } from "./rules/rules.ts"
import { consentSource, suppressionSource } from "./timeline.ts"

export { type ConsentQuestion, type ConsentRule, ConsentRules, type RuleAnswer } from "./rules/rules.ts"

const erasedData = injected({ store: Store, keys: ConsentKeys, leads: Leads }, erasedDataGuard)

export default definePlugin({
  id: "consents",
  reasons,
  needs: ["conversations", "datasets", "email", "event-files", "inbound-mail", "leads", "outgoing-http", "suppressions"],
  config: z.strictObject({}),
  extensionPoints: [ConsentRules],
  extend: [
    [
      ConsentRules,
      injected(
        { ledger: Ledger },
        ({ ledger }) =>
          (question: ConsentQuestion) =>
            ledger.erasure(question),
      ),
    ],
    [
      ConsentRules,
      injected(
        { ledger: Ledger },
        ({ ledger }) =>
          (question: ConsentQuestion) =>
            ledger.consent(question),
      ),
    ],
    [ConsentRules, injected({ suppressions: Suppressions }, ({ suppressions }) => suppressionRule(suppressions))],
    [RowGuards, erasedData],
    [DataGuards, erasedData],
    [LeadTimeline, injected({ ledger: Ledger, store: Store }, ({ ledger, store }) => consentSource(store, ledger))],
    [LeadTimeline, injected({ suppressions: Suppressions }, ({ suppressions }) => suppressionSource(suppressions))],
    [MailGuards, injected({ rules: ConsentRules, clock: Clock }, ({ rules, clock }) => mailGuard(rules, clock))],
    [OutboundVetoes, injected({ rules: ConsentRules, clock: Clock }, ({ rules, clock }) => messageVeto(rules, clock))],
  ],
  register(registrar) {
    registrar.collections(ConsentCollection, TombstoneCollection, ConsentSettingsCollection, ConsentKeyCollection)
    registrar.jobs(eraseTraces)
    registrar.operations(recordConsent, listConsents, exportConsents, checkConsent, erasePerson, getConsentSettings, setConsentSettings)
    registrar.provide(ConsentKeys)
    registrar.provide(Ledger)
  },
})
