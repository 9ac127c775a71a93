// Mail to an organization's admins about new pending approvals: one mail for all approvals of a minute.
import { z } from "zod"
import { defineExtensionPoint, defineJob, derivedUuid, type JobQueue, jobRef, PublicUrl, Store, timestamp, type UnitOfWork } from "#core"
import { Mailer } from "../../people/email/index.ts"
import { Organizations } from "../organizations/index.ts"
import { ApprovalCollection } from "./collections.ts"

// Pages linked in mails about approvals: of the console, or of the API.

/** Returns the address of an approval's page. Without an id: of the list of pending approvals. */
export type ApprovalLink = (approvalId?: string) => string

/** The last item counts. Without an item mails link to the API. */
export const ApprovalLinks = defineExtensionPoint<ApprovalLink>({ id: "approvals.links" })

function apiLink(publicUrl: PublicUrl): ApprovalLink {
  return (id) => `${publicUrl()}/v1/approvals${id === undefined ? "?state=pending" : `/${id}`}`
}

const minuteMs = 60_000
/** Maximum of approvals listed in a mail. Further approvals are counted. */
const maxShown = 20

const noticeRef = jobRef("approvals.notice", z.object({ organization: z.string(), from: z.int() }))

/** Stages the mail of this minute, once for all its approvals. */
export function stageNotice(work: UnitOfWork, queue: JobQueue, organization: string, now: number): void {
  const from = now - (now % minuteMs)
  const id = derivedUuid("approvals", organization, String(from))
  queue.enqueue(work, noticeRef, { organization, from }, { organization, id, runAt: from + minuteMs })
}

export const noticeJob = defineJob(noticeRef, {
  summary: "Tells an organization's admins by mail what waits for them.",
  inject: { store: Store, organizations: Organizations, mailer: Mailer, links: ApprovalLinks, publicUrl: PublicUrl },
  async run({ payload: { organization, from }, deps, work, signal, log }) {
    const { store, organizations, mailer, links, publicUrl } = deps
    const linkTo = links.at(-1) ?? apiLink(publicUrl)
    const filter = { state: "pending", created_at: { $gte: timestamp(from), $lt: timestamp(from + minuteMs) } }
    const pending = await store.open(ApprovalCollection, organization).find(filter, { sort: { created_at: 1 }, limit: maxShown + 1 })
    const to = await organizations.noticeAddresses(organization)
    if (pending.length === 0 || to.length === 0) return
    const summary =
      pending.length > maxShown
        ? `More than ${maxShown} things wait`
        : pending.length === 1
          ? "1 thing waits"
          : `${pending.length} things wait`
    const { suppressed } = await mailer.send({
      organization,
      category: "notice",
      to,
      heading: `${summary} for your approval`,
      intro: `Read and decide with a key of an admin: millrace approvals get ID, millrace approvals decide ID --decision approve. Undecided, they expire.`,
      fields: pending
        .slice(0, maxShown)
        .map(({ id, what, why, risk }) => ({ label: id, value: `${what} ${why} Risk: ${risk}. ${linkTo(id)}` })),
      button: { label: "What waits", url: linkTo(pending.length === 1 ? pending[0]?.id : undefined) },
      idempotencyKey: derivedUuid("approvals", organization, String(from), "mail"),
      at: timestamp(from + minuteMs),
      signal,
      work,
    })
    if (suppressed.length > 0)
      log.warn({ organization, suppressed: suppressed.length }, "admins whose mail bounces were not told what waits")
  },
})
