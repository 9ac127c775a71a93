// Operations for the caller name of an organization: the requested name, its registration, and earlier registrations.
import { z } from "zod"
import { defineList, defineOperation, omitReadOnly, readOnlyInput } from "#core"
import { RegistrationCollection } from "../collections.ts"
import { callerNameGate, Registrations, whatOf } from "../registrations.ts"
import {
  CallerNameRegistration,
  CallerNameResource,
  callerNameFields,
  readOnlyFields,
  shownCallerName,
  shownRegistration,
} from "./resource.ts"

const path = "/v1/voice/caller-name"
const reading = { scope: "voice:read", role: "member" } as const

const wanted = { name: "Acme Sales", phone_number: "+14155552671", integration: "twilio", email: "ada@acme.example" }
const twilio = {
  operation: "integrations.connect",
  input: { app: "twilio", credentials: { username: `AC${"0".repeat(32)}`, password: "auth-token" }, share_with_org: true },
}
const set = { operation: "voice.set_caller_name", input: wanted }

export const setCallerName = defineOperation({
  name: "voice.set_caller_name",
  summary: "Say what the organization's caller name is to be, and for which number.",
  description: "Nothing is filed or registered: POST /v1/voice/caller-name files it. A registration in progress stays as it was filed.",
  http: { method: "PUT", path },
  access: { scope: "voice:write", role: "admin" },
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject({
    ...callerNameFields,
    name: callerNameFields.name.default(""),
    integration: callerNameFields.integration.default("twilio"),
    customer_profile_sid: callerNameFields.customer_profile_sid.default(""),
    ...readOnlyInput(readOnlyFields),
  }),
  output: CallerNameResource,
  errors: ["invalid_argument", "aborted", "already_exists"],
  examples: [{ input: wanted }],
  inject: { registrations: Registrations },
  async handle({ input, caller, deps: { registrations }, work }) {
    const organization = caller.organization.id
    const stored = await registrations.wanted(organization)
    const registration = await registrations.current(organization, stored)
    omitReadOnly(input, shownCallerName(stored, registration), readOnlyFields)
    const { name, phone_number, integration, email, customer_profile_sid } = input
    const change = { name, phone_number, integration, email, customer_profile_sid }
    return shownCallerName(registrations.want(work, organization, stored, change), registration)
  },
  onConflict: async ({ error }) => error,
})

export const getCallerName = defineOperation({
  name: "voice.get_caller_name",
  summary: "Read the organization's caller name, and how far its registration is.",
  http: { method: "GET", path },
  access: reading,
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({}),
  output: CallerNameResource,
  errors: [],
  inject: { registrations: Registrations },
  async handle({ caller, deps: { registrations } }) {
    const organization = caller.organization.id
    const stored = await registrations.wanted(organization)
    return shownCallerName(stored, await registrations.current(organization, stored))
  },
})

export const provisionCallerName = defineOperation({
  name: "voice.provision_caller_name",
  summary: "File the registration of the organization's caller name for approval.",
  description:
    "Always asks a person (gate `voice.caller_name`), regardless of the list of gates. Once it is approved, the name is registered through Twilio's Trust Hub, once. While the same name is in progress or active, a repeat answers its registration.",
  http: { method: "POST", path },
  access: { scope: "voice:write", role: "member" },
  hints: { readOnly: false, destructive: false, idempotent: true, openWorld: "by_job" },
  mcp: { listed: true },
  input: z.strictObject({}),
  output: z.object({
    action_display: z.string().describe("What would be done, or was."),
    approval_request_id: z.string(),
    registration: CallerNameRegistration,
    status: z.string().describe("`pending_approval`: a person has to decide, and nothing was registered."),
  }),
  errors: ["invalid_argument", "failed_precondition", "aborted"],
  examples: [{ given: { twilio, set }, input: {} }],
  standingGate: callerNameGate,
  inject: { registrations: Registrations },
  async handle({ caller, deps: { registrations }, work }) {
    const registration = await registrations.provision(work, caller)
    const { approval_id, status } = registration
    return {
      action_display: whatOf(registration),
      approval_request_id: approval_id,
      registration: shownRegistration(registration),
      status,
    }
  },
  onConflict: async ({ error }) => error,
})

export const listRegistrations = defineList({
  name: "voice.list_caller_name_registrations",
  summary: "List registrations of caller names, newest first.",
  path: `${path}/registrations`,
  access: reading,
  columns: ["name", "phone_number", "status", "last_error", "created_at"],
  collection: RegistrationCollection,
  items: { registrations: CallerNameRegistration },
  view: shownRegistration,
})
