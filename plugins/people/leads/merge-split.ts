// Manual merges of two leads of the same person, and splits of a lead with two people.
import { AppError, type UnitOfWork } from "#core"
import { IdentityCollection, LeadCollection, type StoredLead } from "./collections.ts"
import { type LeadRecords, maxIdentities } from "./records.ts"

export interface ByHand {
  readonly note: string
  readonly credential_id: string
}

/** Stages the merge of `from` into `into`, both as stored. Throws `failed_precondition`. */
export async function mergeInto(
  records: LeadRecords,
  work: UnitOfWork,
  organization: string,
  into: StoredLead,
  from: StoredLead,
  by: ByHand,
): Promise<StoredLead> {
  if (into.id === from.id) throw mergeRefused("is this lead already")
  const emails = [...new Set([...into.emails, ...from.emails])]
  const phones = [...new Set([...into.phones, ...from.phones])]
  if (emails.length + phones.length > maxIdentities) throw mergeRefused(`would give it more than ${maxIdentities} addresses and numbers`)
  for (const { id } of await records.identities(organization, from)) {
    work.in(IdentityCollection, organization).update(id, { $set: { lead_id: into.id } }, { where: { lead_id: from.id } })
  }
  records.change(work, organization, from, { merged_into: into.id, emails: [], phones: [], possible_duplicates: [] })
  const moved = { emails: from.emails, phones: from.phones, ...by }
  const at = records.now()
  records.note(work, organization, { lead_id: into.id, kind: "merged", at, other_lead_id: from.id, ...moved })
  records.note(work, organization, { lead_id: from.id, kind: "merged_into", at, other_lead_id: into.id, ...moved })
  return records.change(work, organization, into, {
    emails,
    phones,
    name: into.name || from.name,
    time_zone: into.time_zone || from.time_zone || "",
    possible_duplicates: into.possible_duplicates.filter((id) => id !== from.id),
    first_seen_at: inOrder(into.first_seen_at, from.first_seen_at)[0],
    last_seen_at: inOrder(into.last_seen_at, from.last_seen_at)[1],
  })
}

/** Stages a separate lead for some addresses and numbers, with their history. Throws `failed_precondition`. */
export async function splitOff(
  records: LeadRecords,
  work: UnitOfWork,
  organization: string,
  lead: StoredLead,
  taken: Pick<StoredLead, "emails" | "phones">,
  by: ByHand,
): Promise<{ lead: StoredLead; split_off: StoredLead }> {
  const strangers = [
    ...taken.emails.filter((one) => !lead.emails.includes(one)).map((one) => ({ path: "emails", one })),
    ...taken.phones.filter((one) => !lead.phones.includes(one)).map((one) => ({ path: "phones", one })),
  ]
  const [stranger] = strangers
  if (stranger) throw splitRefused(stranger.path, `${stranger.one} is not the lead's`)
  const rest = {
    emails: lead.emails.filter((one) => !taken.emails.includes(one)),
    phones: lead.phones.filter((one) => !taken.phones.includes(one)),
  }
  if (taken.emails.length + taken.phones.length === 0) throw splitRefused("emails", "and phones are empty; name what to split off")
  if (rest.emails.length + rest.phones.length === 0) throw splitRefused("emails", "and phones are all that the lead has")
  const at = records.now()
  const { created_with: _, ...unmade } = lead
  const split_off: StoredLead = {
    ...unmade,
    ...taken,
    id: records.newId(),
    name: "",
    time_zone: "",
    possible_duplicates: [],
    revision: 1,
    created_at: at,
    updated_at: at,
  }
  work.in(LeadCollection, organization).insert(split_off)
  for (const { id, kind, value } of await records.identities(organization, lead)) {
    if (!(kind === "email" ? taken.emails : taken.phones).includes(value)) continue
    work.in(IdentityCollection, organization).update(id, { $set: { lead_id: split_off.id } }, { where: { lead_id: lead.id } })
  }
  records.note(work, organization, { lead_id: lead.id, kind: "split", at, other_lead_id: split_off.id, ...taken, ...by })
  records.note(work, organization, { lead_id: split_off.id, kind: "split_off", at, other_lead_id: lead.id, ...taken, ...by })
  return { lead: records.change(work, organization, lead, rest), split_off }
}

function inOrder(one: string, other: string): [string, string] {
  return one < other ? [one, other] : [other, one]
}

function mergeRefused(problem: string): AppError {
  return new AppError("failed_precondition", `other_lead_id ${problem}.`, {
    reason: "lead_merge_refused",
    fields: [{ path: "other_lead_id", message: problem }],
  })
}

function splitRefused(path: string, problem: string): AppError {
  return new AppError("failed_precondition", `${path}: ${problem}.`, {
    reason: "lead_split_refused",
    fields: [{ path, message: problem }],
  })
}
