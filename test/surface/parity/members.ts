// Organizations for walks over the operations, each with an unrestricted key.

import { AppError, type UnitOfWork, UnitsOfWork } from "#core"
import type { Role } from "#core/engine"
import { type AnyOperation, fulfilled, type GivenCall } from "../../../core/contract/operation.ts"
import { Store } from "../../../core/contract/store.ts"
import { JobCollection } from "../../../core/jobs/jobs-collection.ts"
import { UserSessions } from "../../../plugins/platform/identity/index.ts"
import { ApiKeys, Organizations } from "../../../plugins/platform/organizations/index.ts"
import { drawCode, invitationId } from "../../../plugins/platform/organizations/members/invitations/code.ts"
import { MemberInvitationsCollection } from "../../../plugins/platform/organizations/members/invitations/collections.ts"
import { OwnershipOffersCollection, offerId } from "../../../plugins/platform/organizations/members/ownership.ts"
import { until } from "../../waiting.ts"
import { account, ofPersons } from "./account.ts"
import type { ParityFixture } from "./fixture.ts"
import { type Input, type Outcome, surfaces } from "./surfaces.ts"

export interface Member {
  readonly organization: { readonly id: string; readonly slug: string }
  readonly key: string
  /** Results of calls by another organization. */
  readonly prepared?: Answers
}

/** Slug suffixes of a member's further organizations. */
export const ownedClients = ["one", "two", "three"] as const

const unknownId = "00000000-0000-4000-8000-000000000000"

export type Answers = Record<string, unknown>

/** Creates one organization per slug, with a staff owner and a key. Adds client organizations if the operation needs them. */
export function members(fixture: ParityFixture, slugs: readonly string[], isFor?: AnyOperation): Promise<Member[]> {
  const clients = isFor === undefined || isFor.name.startsWith("managed_organizations.") ? ownedClients : []
  const { host } = fixture
  const [organizations, keys] = [host.get(Organizations), host.get(ApiKeys)]
  return host.get(UnitsOfWork).run((work) =>
    Promise.all(
      slugs.map(async (slug) => {
        const organization = await organizations.create(work, { name: slug, slug })
        const user = organizations.addUser(work, { email: `ada@${slug}.test`, name: "Ada", staff: true })
        organizations.addMember(work, organization.id, user.id, "owner")
        // A second owner allows the first to leave. In other cases, the key's owner stays the only owner.
        const colleague = organizations.addUser(work, { email: `grace@${slug}.test`, name: "Grace" })
        const isAboutMembers = isFor !== undefined && /^(?:members\.|ownership\.|me\.delete$)/.test(isFor.name)
        organizations.addMember(work, organization.id, colleague.id, isAboutMembers ? "owner" : "guest")
        // Further organizations of the owner, to be managed: one per example.
        for (const client of clients) {
          const { id } = organizations.create(work, { name: `${slug} ${client}`, slug: `${slug}-${client}` })
          organizations.addMember(work, id, user.id, "owner")
        }
        const isJoining = isFor === undefined || isFor.name === "member_invitations.accept"
        const prepared = isJoining ? { invitation: invited(work, organizations, user.email, slug) } : {}
        if (isFor?.name === "ownership.accept") offerOwnership(work, organization.id, colleague.id, user.id)
        openSessions(fixture, work, { user: user.id, organization: organization.id }, isFor)
        const person = account(fixture, work, user, isFor)
        return person ? { organization, ...person } : { organization, key: ownKey(keys, work, organization.id, user.id), prepared }
      }),
    ),
  )
}

/** Opens sessions of the owner to end: one per call. */
function openSessions(
  { host }: ParityFixture,
  work: UnitOfWork,
  whose: { user: string; organization: string },
  isFor?: AnyOperation,
): void {
  if (isFor !== undefined && !isFor.name.startsWith("sessions.")) return
  const session = { ...whose, method: "email_code", device: "", address: "" } as const
  for (let n = 0; n < 20; n++) host.get(UserSessions).open(work, session)
}

function ownKey(keys: ApiKeys, work: UnitOfWork, organization: string, user: string): string {
  return keys.mint(work, organization, { name: "k", kind: "api_key", role: "owner", scopes: null, user }).text
}

/** Creates an invitation of another organization. */
function invited(work: UnitOfWork, organizations: Organizations, email: string, slug: string): { code: string } {
  const { id } = organizations.create(work, { name: `${slug} inviting`, slug: `${slug}-inviting` })
  const invitation = invitationId(id, email)
  const { code, hash } = drawCode(id, invitation)
  const invited_by = { credential_id: unknownId, user_id: null }
  const times = { created_at: now(), sent_at: now(), expires_at: now(86_400_000) }
  work.in(MemberInvitationsCollection, id).insert({ id: invitation, email, role: "member", hash, shown: false, invited_by, ...times })
  return { code }
}

function offerOwnership(work: UnitOfWork, organization: string, from_user_id: string, to_user_id: string): void {
  const fields = { from_user_id, to_user_id, stay_owner: true, created_at: now(), expires_at: now(86_400_000) }
  work.in(OwnershipOffersCollection, organization).insert({ id: offerId(organization, to_user_id), ...fields })
}

function now(laterMs = 0): string {
  return new Date(Date.now() + laterMs).toISOString()
}

/** Removes the gates, so calls run instead of waiting for approval. */
export async function liftGates({ host }: ParityFixture, ...lifted: readonly Member[]): Promise<void> {
  for (const { key } of lifted) {
    const { status } = await host.api("PUT", "/v1/autonomy-gates", { gates: [] }, { key })
    if (status !== 200) throw new Error(`The gates were not lifted: ${status}`)
  }
}

/** Creates another key of the organization, without a user. */
export function keyOf(
  { host }: ParityFixture,
  { organization }: Member,
  role: Role,
  scopes: readonly string[] | null = null,
): Promise<string> {
  const kind = scopes ? "token" : "api_key"
  const keyOptions = { name: "further", kind, role, scopes: scopes && [...scopes], user: null } as const
  return host.get(UnitsOfWork).run((work) => host.get(ApiKeys).mint(work, organization.id, keyOptions).text)
}

export interface SharedAnswers {
  /** Answers of the organization's prepared calls, by call. */
  readonly answers: Map<string, unknown>
  /** True to repeat calls, except calls that can run only once. False to repeat only reads. */
  readonly again: boolean
}

/** Runs the preparatory calls in order. Throws if a call fails: the declaration is wrong. */
export async function giving(
  fixture: ParityFixture,
  member: Member,
  calls: Readonly<Record<string, GivenCall>> = {},
  cache: SharedAnswers = { answers: new Map(), again: true },
): Promise<Answers> {
  const answers: Answers = { ...member.prepared }
  for (const [name, call] of Object.entries(calls)) answers[name] = await give(fixture, member, call, { earlier: answers, known: cache })
  return answers
}

async function give(
  fixture: ParityFixture,
  member: Member,
  call: GivenCall,
  { earlier, known }: { readonly earlier: Answers; readonly known: SharedAnswers },
): Promise<unknown> {
  const name = typeof call === "string" ? call : call.operation
  const operation = fixture.operations.get(name)
  if (!operation) throw new Error(`An example begins with the operation "${name}", which does not exist.`)
  const key = JSON.stringify(call)
  if (!known.again && !operation.hints.readOnly && known.answers.has(key)) return known.answers.get(key)
  const outcome =
    typeof call === "string"
      ? await exampleOf(fixture, member, operation, known)
      : await startCall(fixture, member, operation, call.input, earlier)
  if (outcome.code === "already_exists" && known.answers.has(key)) return known.answers.get(key)
  if (outcome.code === undefined) known.answers.set(key, outcome.body)
  else throw new Error(`${name}, given for an example, answered ${outcome.text.slice(0, 500)}`)
  return outcome.body
}

/** Calls the operation with its first example. */
export async function exampleOf(fixture: ParityFixture, member: Member, operation: AnyOperation, cache?: SharedAnswers): Promise<Outcome> {
  const example = operation.examples?.[0]
  return await startCall(fixture, member, operation, example?.input ?? {}, await giving(fixture, member, example?.given, cache))
}

async function startCall(
  fixture: ParityFixture,
  member: Member,
  operation: AnyOperation,
  input: unknown,
  answers: Answers,
): Promise<Outcome> {
  await whenSettled(fixture, [member])
  const request = placed(input, answers) as Input
  const { host } = fixture
  const key = ofPersons.test(operation.name) ? await sessionOf(fixture, member) : member.key
  if (operation.streams) return await surfaces.rest(operation, request, { url: host.url, key })
  // Without a surface: this call is a preparation, not the test's subject.
  return await host.invoke(operation.name, request, { key }).then((body) => succeeded(operation, body), refused)
}

/** Opens a session of the key's user. */
async function sessionOf({ host }: ParityFixture, { key, organization }: Member): Promise<string> {
  const { user } = (await host.invoke("me.get", {}, { key })) as { user: { id: string } }
  const session = { user: user.id, organization: organization.id, method: "email_code", device: "", address: "" } as const
  return await host.get(UnitsOfWork).run((work) => host.get(UserSessions).open(work, session).text)
}

function succeeded({ http }: AnyOperation, body: unknown): Outcome {
  return { status: http.status ?? 200, code: undefined, body, text: JSON.stringify(body) }
}

function refused(error: unknown): Outcome {
  if (!(error instanceof AppError)) throw error
  const body = error.toBody()
  return { status: error.status, code: error.code, body, text: JSON.stringify(body) }
}

/** Returns the input with references replaced by answers. */
export function placed(input: unknown, answers: Answers): unknown {
  return fulfilled(input, (path) => {
    const value = path.split(".").reduce<unknown>((from, step) => (from as Answers | undefined)?.[step], answers)
    if (value === undefined || value === null)
      throw new Error(`Nothing was answered at "${path}": ${JSON.stringify(answers).slice(0, 500)}`)
    return value
  })
}

/** Waits until no work of these members is due or in progress, so the next call does not interfere. */
export async function whenSettled({ host }: ParityFixture, whose: readonly Member[]): Promise<void> {
  const organizations = whose.map(({ organization }) => organization.id)
  const jobs = host.get(Store).open(JobCollection)
  await until("no job of these organizations being due or in progress", async () => {
    const $or = [{ held_by: { $ne: "" } }, { run_at: { $lte: new Date().toISOString() } }]
    return (await jobs.count({ organization: { $in: organizations }, state: "queued", $or }, { limit: 1 })) === 0
  })
}
