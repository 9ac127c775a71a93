// Consents: a ledger of agreements, a check of the permission to write to a person, and erasure.
import { z } from "zod"
import { Clock, definePlugin, injected, Store } from "#core"
import { RowGuards } from "../../data/datasets/index.ts"
import { DataGuards } from "../../platform/outgoing-http/index.ts"
import { OutboundVetoes } from "../conversations/index.ts"
import { MailGuards } from "../email/index.ts"
import { Leads, LeadTimeline, type LeadTimelineSource, type TimelineEntry } from "../leads/index.ts"
import { Suppressions } from "../suppressions/index.ts"
import { ConsentCollection, type ConsentEntry, ConsentSettingsCollection, TombstoneCollection } from "./collections.ts"
import { mailGuard, messageVeto } from "./enforcement.ts"
import { erasedDataGuard } from "./erased-data.ts"
import { eraseTraces } from "./erasure.ts"
import { ConsentKeyCollection, ConsentKeys } from "./keys.ts"
import { Ledger } from "./ledger.ts"
import { checkConsent } from "./operations/check.ts"
import { erasePerson } from "./operations/erase.ts"
import { exportConsents, getConsentSettings, listConsents, recordConsent, setConsentSettings } from "./operations/ledger.ts"
import { reasons } from "./reasons.ts"
import { type ConsentQuestion, ConsentRules, suppressionRule } from "./rules.ts"

export { type ConsentQuestion, type ConsentRule, ConsentRules, type RuleAnswer } from "./rules.ts"

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

/** Returns a timeline source: consent and suppression entries of a lead. */
function consentSource(store: Store, ledger: Ledger): LeadTimelineSource {
  return async ({ organization, emails, phones, limit, after }) => {
    const people = [
      ...emails.map((value) => ({ kind: "email" as const, value })),
      ...phones.map((value) => ({ kind: "phone" as const, value })),
    ]
    if (people.length === 0) return []
    const digests = await Promise.all(people.map((person) => ledger.digestOf(organization, person)))
    const options = { sort: { at: -1, id: -1 }, limit, ...(after ? { after } : {}) } as const
    return (await store.open(ConsentCollection, organization).find({ digest: { $in: digests } }, options)).map(step)
  }
}

function step({ id, at, kind, channel, purpose, source, wording, evidence, address }: ConsentEntry): TimelineEntry {
  const on = channel === "all" ? "every channel" : channel
  const summary = `${kind === "given" ? "Consented to" : "Withdrew consent to"} ${purpose} on ${on}.`
  return { id, at, kind: `consent.${kind}`, summary, evidence: { address, source, wording, ...evidence } }
}

function suppressionSource(suppressions: Suppressions): LeadTimelineSource {
  return async ({ organization, emails, after }) => {
    // Each address has only a few entries.
    const found = await suppressions.of(organization, emails)
    const entries = found.map(({ id, created_at: at, reason, source, address, evidence }) => {
      const summary = `${address} was put on the suppression list: ${reason}.`
      return { id, at, kind: "suppression.added", summary, evidence: { address, reason, source, ...evidence } }
    })
    const [lastAt = "", lastId = ""] = after ?? []
    return after ? entries.filter(({ at, id }) => at < lastAt || (at === lastAt && id < lastId)) : entries
  }
}
