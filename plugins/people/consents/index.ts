// Consents: a ledger of what people agreed to be written for, the one question whether they may be written to, and erasure.
import { z } from "zod"
import { Clock, definePlugin, Ids, injected, Store, Vault } from "#core"
import { RowGuards } from "../../data/datasets/index.ts"
import { DataGuards } from "../../platform/outgoing-http/index.ts"
import { OutboundVetoes } from "../conversations/index.ts"
import { MailGuards } from "../email/index.ts"
import { LeadsToken, LeadTimeline } from "../leads/index.ts"
import { SuppressionsToken } from "../suppressions/index.ts"
import { ConsentCollection, ConsentSettingsCollection, TombstoneCollection } from "./collections.ts"
import { mailGuard, messageVeto } from "./enforcement.ts"
import { erasedDataGuard } from "./erased-data.ts"
import { eraseTraces } from "./erasure.ts"
import { ConsentKeyCollection, ConsentKeys, ConsentKeysToken } from "./keys.ts"
import { Ledger, LedgerToken } from "./ledger.ts"
import { checkConsent } from "./operations/check.ts"
import { erasePerson } from "./operations/erase.ts"
import { exportConsents, getConsentSettings, listConsents, recordConsent, setConsentSettings } from "./operations/ledger.ts"
import { reasons } from "./reasons.ts"
import { suppressionRule } from "./rules/others.ts"
import { type ConsentQuestion, ConsentRules } from "./rules/rules.ts"
import { consentSource, suppressionSource } from "./timeline.ts"

export { type ConsentQuestion, type ConsentRule, ConsentRules, type RuleAnswer } from "./rules/rules.ts"

const erasedData = injected({ store: Store, keys: ConsentKeysToken, leads: LeadsToken }, erasedDataGuard)

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
        { ledger: LedgerToken },
        ({ ledger }) =>
          (question: ConsentQuestion) =>
            ledger.erasure(question),
      ),
    ],
    [
      ConsentRules,
      injected(
        { ledger: LedgerToken },
        ({ ledger }) =>
          (question: ConsentQuestion) =>
            ledger.consent(question),
      ),
    ],
    [ConsentRules, injected({ suppressions: SuppressionsToken }, ({ suppressions }) => suppressionRule(suppressions))],
    [RowGuards, erasedData],
    [DataGuards, erasedData],
    [LeadTimeline, injected({ ledger: LedgerToken, store: Store }, ({ ledger, store }) => consentSource(store, ledger))],
    [LeadTimeline, injected({ suppressions: SuppressionsToken }, ({ suppressions }) => suppressionSource(suppressions))],
    [MailGuards, injected({ rules: ConsentRules, clock: Clock }, ({ rules, clock }) => mailGuard(rules, clock))],
    [OutboundVetoes, injected({ rules: ConsentRules, clock: Clock }, ({ rules, clock }) => messageVeto(rules, clock))],
  ],
  register(registrar) {
    registrar.collections(ConsentCollection, TombstoneCollection, ConsentSettingsCollection, ConsentKeyCollection)
    registrar.jobs(eraseTraces)
    registrar.operations(recordConsent, listConsents, exportConsents, checkConsent, erasePerson, getConsentSettings, setConsentSettings)
    registrar.provide(ConsentKeysToken, {
      inject: { store: Store, vault: Vault, ids: Ids },
      create: (deps) => new ConsentKeys(deps),
    })
    registrar.provide(LedgerToken, {
      inject: { store: Store, clock: Clock, ids: Ids, keys: ConsentKeysToken },
      create: (deps) => new Ledger(deps),
    })
  },
})
