// What an action left behind, in a form that can be compared between two organizations that it ran in.
import { isDeepStrictEqual } from "node:util"
import type { Document } from "../../contract/collection.ts"
import type { OutgoingCall, OutgoingMail } from "../../contract/outgoing.ts"
import { journalCollections } from "../../pipeline/journal/collections.ts"
import type { MadePipeline } from "../../rehearsal/harness.ts"
import type { FixtureOrganization, Holdings } from "./fixture.ts"

export interface Effects {
  /** By collection, in order: documents that were made, changed or removed. */
  readonly documents: Readonly<Record<string, readonly string[]>>
  readonly mails: readonly OutgoingMail[]
  readonly calls: readonly OutgoingCall[]
}

const journal: ReadonlySet<string> = new Set(journalCollections.map(({ name }) => name))

/** Ids, times, keys and what is encrypted; what people and programs call things is shorter. */
const generated = /[\w:.+/=-]{16,}|\d{12,}/g

/**
 * What the events of a pipeline left behind since `before`, beside the record of themselves. Two documents count as the
 * same when their JSON is, but for words of 16 characters and more, numbers of 12 digits and more, and what the
 * organization is called: ids are generated and times pass. Of what the journal says of other pipelines, only how much counts.
 */
export async function effectsOf(site: FixtureOrganization, { stored }: MadePipeline, before: Holdings): Promise<Effects> {
  const { mails, calls } = site.harness.rehearsal.outgoing
  const after = await site.everything()
  const comparable = (one: Document) => JSON.stringify(one).replaceAll(generated, "*").replaceAll(site.organization.slug, "*")
  const documents: Record<string, string[]> = {}
  for (const [name, held] of Object.entries(after)) {
    const earlier = new Map((before[name] ?? []).map((one) => [one.id, one]))
    const changed = held.filter((one) => !isDeepStrictEqual(one, earlier.get(one.id)))
    const left = new Set(held.map(({ id }) => id))
    const removed = [...earlier.values()].filter(({ id }) => !left.has(id)).map((one) => `removed ${comparable(one)}`)
    const foreign = changed.filter((one) => "pipeline_id" in one && one["pipeline_id"] !== stored.id)
    documents[name] = journal.has(name) ? foreign.map(() => "an entry") : [...changed.map(comparable), ...removed].toSorted()
  }
  return { documents, mails: [...mails], calls: [...calls] }
}
