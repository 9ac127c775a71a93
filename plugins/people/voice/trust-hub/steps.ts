// The calls for a caller name, in Trust Hub's order. A call may have succeeded even if its answer was lost. Each creating step
// therefore first looks for an existing object, by name or by its connections.
import type { Progress, Reason, Registration } from "../collections.ts"
import { type Fields, HubRefusal, HubUnavailable, isFields, sidOf, type TrustHub, textOf } from "./client.ts"

export interface StepArgs {
  readonly hub: TrustHub
  readonly registration: Registration
  readonly policySid: string
  /** Empty: Trust Hub sends no callback. */
  readonly callbackUrl: string
}

export interface RegistrationStep {
  /** Field of `progress` set by the step. */
  readonly makes: keyof Progress
  run(args: StepArgs & { readonly sids: Required<Progress> }): Promise<Partial<Progress>>
}

/** Trust Hub's evaluation failed. Contains the registration's `reasons`. */
export class NotCompliant extends Error {
  readonly reasons: Reason[]

  constructor(reasons: Reason[]) {
    super("Trust Hub's evaluation found that the registration does not comply.")
    this.reasons = reasons
  }
}

export const steps: readonly RegistrationStep[] = [
  {
    makes: "customer_profile_sid",
    async run({ hub, registration }) {
      const profile = await profileOf(hub, registration.customer_profile_sid)
      return { customer_profile_sid: sidOf(profile, "sid", "BU"), account_sid: sidOf(profile, "account_sid", "AC") }
    },
  },
  {
    makes: "phone_number_sid",
    async run({ hub, registration: { phone_number }, sids }) {
      const number = await hub.number(sids.account_sid, phone_number)
      if (!number) throw new HubRefusal("number_not_found", `The Twilio account has no number ${phone_number}.`)
      return { phone_number_sid: sidOf(number, "sid", "PN") }
    },
  },
  {
    makes: "profile_number_sid",
    run: async ({ hub, sids }) => ({ profile_number_sid: await numberOf(hub, `/v1/CustomerProfiles/${sids.customer_profile_sid}`, sids) }),
  },
  {
    makes: "trust_product_sid",
    async run({ hub, registration, policySid, callbackUrl }) {
      const FriendlyName = friendlyName(registration)
      const callback = callbackUrl === "" ? {} : { StatusCallback: callbackUrl }
      const form = { FriendlyName, Email: registration.email, PolicySid: policySid, ...callback }
      const product = await ensured(hub, "/v1/TrustProducts", form, { query: { FriendlyName }, matches: named(FriendlyName) })
      return { trust_product_sid: sidOf(product, "sid", "BU") }
    },
  },
  {
    makes: "end_user_sid",
    async run({ hub, registration }) {
      const FriendlyName = friendlyName(registration)
      const Attributes = JSON.stringify({ cnam_display_name: registration.name })
      const form = { FriendlyName, Type: "cnam_information", Attributes }
      const user = await ensured(hub, "/v1/EndUsers", form, { matches: named(FriendlyName) })
      return { end_user_sid: sidOf(user, "sid", "IT") }
    },
  },
  {
    makes: "end_user_assignment_sid",
    run: async ({ hub, sids }) => ({ end_user_assignment_sid: await entityOf(hub, sids, sids.end_user_sid) }),
  },
  {
    makes: "profile_assignment_sid",
    run: async ({ hub, sids }) => ({ profile_assignment_sid: await entityOf(hub, sids, sids.customer_profile_sid) }),
  },
  {
    makes: "trust_product_number_sid",
    run: async ({ hub, sids }) => ({ trust_product_number_sid: await numberOf(hub, productOf(sids), sids) }),
  },
  {
    makes: "evaluation_sid",
    async run({ hub, sids, policySid }) {
      const evaluation = await hub.post(`${productOf(sids)}/Evaluations`, { PolicySid: policySid })
      if (evaluation["status"] === "noncompliant") throw new NotCompliant(faultsOf(evaluation))
      if (evaluation["status"] !== "compliant") throw new HubUnavailable("Trust Hub's evaluation says neither compliant nor noncompliant.")
      return { evaluation_sid: sidOf(evaluation, "sid", "EL") }
    },
  },
]

/** Submits the registration unless already submitted. Returns the resulting trust product. */
export async function submitted({ hub, sids }: { readonly hub: TrustHub; readonly sids: Required<Progress> }): Promise<Fields> {
  const product = await hub.get(productOf(sids))
  return product["status"] === "draft" ? await hub.post(productOf(sids), { Status: "pending-review" }) : product
}

export function productOf({ trust_product_sid }: Pick<Required<Progress>, "trust_product_sid">): string {
  return `/v1/TrustProducts/${trust_product_sid}`
}

/** A name unique to this registration. */
function friendlyName({ id, name }: Registration): string {
  return `${name} caller name ${id}`
}

function named(name: string): (item: Fields) => boolean {
  return ({ friendly_name }) => friendly_name === name
}

async function profileOf(hub: TrustHub, sid: string): Promise<Fields> {
  if (sid !== "") {
    const profile = await hub.get(`/v1/CustomerProfiles/${sid}`)
    if (profile["status"] === "twilio-approved") return profile
    throw new HubUnavailable(`The customer profile ${sid} is ${textOf(profile["status"])}; Twilio has to approve it first.`)
  }
  const [profile, another] = await hub.find(
    "/v1/CustomerProfiles",
    { Status: "twilio-approved" },
    ({ status }) => status === "twilio-approved",
  )
  if (!profile) throw new HubUnavailable("The Twilio account has no approved customer profile; make one in its Trust Hub.")
  if (!another) return profile
  throw new HubRefusal("several_profiles", "The Twilio account has several approved customer profiles; name one by customer_profile_sid.")
}

interface Ensured {
  readonly query?: Record<string, string>
  readonly matches: (item: Fields) => boolean
}

/** Returns the existing object, or creates it. */
async function ensured(hub: TrustHub, path: string, form: Record<string, string>, { query = {}, matches }: Ensured): Promise<Fields> {
  const [found] = await hub.find(path, query, matches)
  return found ?? (await hub.post(path, form))
}

async function numberOf(hub: TrustHub, of: string, { phone_number_sid: sid }: Required<Progress>): Promise<string> {
  const form = { ChannelEndpointType: "phone-number", ChannelEndpointSid: sid }
  const query = { ChannelEndpointSid: sid }
  const matches = ({ channel_endpoint_sid }: Fields) => channel_endpoint_sid === sid
  return sidOf(await ensured(hub, `${of}/ChannelEndpointAssignments`, form, { query, matches }), "sid", "RA")
}

async function entityOf(hub: TrustHub, sids: Required<Progress>, ObjectSid: string): Promise<string> {
  const matches = ({ object_sid }: Fields) => object_sid === ObjectSid
  return sidOf(await ensured(hub, `${productOf(sids)}/EntityAssignments`, { ObjectSid }, { matches }), "sid", "BV")
}

/** Returns unmet requirements of an evaluation. */
function faultsOf({ results }: Fields): Reason[] {
  const unmet = (Array.isArray(results) ? results : []).filter(isFields).filter(({ passed }) => passed === false)
  const faults = unmet.flatMap((requirement) => {
    const fields = (Array.isArray(requirement["invalid"]) ? requirement["invalid"] : []).filter(isFields)
    return (fields.length > 0 ? fields : [requirement]).map((one) => ({
      code: textOf(one["error_code"]) || "noncompliant",
      message: textOf(one["failure_reason"]) || textOf(requirement["friendly_name"]),
    }))
  })
  return faults.length > 0 ? faults.slice(0, 50) : [{ code: "noncompliant", message: "Trust Hub's evaluation gave no reason." }]
}
