// A check that is due by the schedule.
import { defineJob } from "#core"
import { SendingDomainsToken } from "../sending-domains.ts"
import { checkRef } from "./schedule.ts"

export const checkJob = defineJob(checkRef, {
  summary: "Checks the DNS records of a sending domain.",
  inject: { domains: SendingDomainsToken },
  async run({ payload: { organization, domain }, deps: { domains }, work }) {
    const stored = await domains.find(organization, domain)
    if (stored && stored.status !== "disabled") await domains.check(work, organization, stored, false)
  },
})
