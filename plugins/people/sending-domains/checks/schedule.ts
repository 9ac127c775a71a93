// Checks of every registered domain each hour, at a minute of its own.
import { z } from "zod"
import { jobRef, type Scheduler, type UnitOfWork } from "#core"
import type { StoredDomain } from "../sending-domain.ts"

export const checkRef = jobRef("sending_domains.check", z.object({ organization: z.string(), domain: z.string() }))

export function scheduleChecks(scheduler: Scheduler, work: UnitOfWork, organization: string, { id, domain }: StoredDomain): void {
  const minute = Number.parseInt(id.slice(0, 4), 16) % 60
  scheduler.set(work, { id, job: checkRef, payload: { organization, domain }, organization, cron: `${minute} * * * *` })
}

export function endChecks(scheduler: Scheduler, work: UnitOfWork, { id }: StoredDomain): void {
  scheduler.remove(work, checkRef, id)
}
