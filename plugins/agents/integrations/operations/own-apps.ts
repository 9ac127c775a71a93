// Operations for an organization's own apps: create, read, replace and delete. Their documents have the same schema as in
// config/apps.
import { z } from "zod"
import {
  AppError,
  Clock,
  defineOperation,
  OutgoingHttp,
  omitReadOnly,
  readOnlyInput,
  requireRevision,
  resultOf,
  Slug,
  Store,
  timestamp,
} from "#core"
import { checkHeaders } from "../../../platform/outgoing-http/index.ts"
import { AppDocument } from "../apps/document.ts"
import { Connections } from "../connections.ts"
import { clientDocumentId, StoredClients } from "../oauth/clients.ts"
import { type OwnApp, OwnApps, ownAppId } from "../own-apps/collections.ts"
import { checkDestinations, destinationsOf } from "../own-apps/destinations.ts"
import { maxOwnApps, OrganizationApps } from "../own-apps/organization-apps.ts"

const path = "/v1/integration-apps"
const appPath = `${path}/{slug}`
const writing = { scope: "integrations:write", role: "admin" } as const
const readOnlyFields = ["revision", "created_at", "updated_at"] as const
const maxCharacters = 65_536

const DocumentField = AppDocument.refine(({ auth }) => !auth.broker, {
  path: ["auth", "broker"],
  message: "the connection broker is the operator's, for apps of the service",
})
  .refine((document) => JSON.stringify(document).length <= maxCharacters, "expected at most 64 KiB")
  .describe("As a file in config/apps; see the documentation of integrations.")

const OwnAppView = z.object({
  slug: z.string(),
  document: z.record(z.string(), z.unknown()),
  revision: z.int(),
  created_at: z.string(),
  updated_at: z.string(),
})

function shown({ slug, document, revision, created_at, updated_at }: OwnApp): z.input<typeof OwnAppView> {
  return { slug, document: { ...document }, revision, created_at, updated_at }
}

const example = (slug: string) => ({
  slug,
  name: "Acme CRM",
  summary: "Contacts of Acme.",
  docs_url: "https://docs.acme.example/api",
  base_url: "https://{region}.api.acme.example/v2",
  parameters: { region: "The account's region, such as eu." },
  auth: { basic: {} },
  test: { path: "/me" },
})
const exampleApp = (slug: string) => ({ app: { operation: "integration_apps.create", input: { document: example(slug) } } })
const thatApp = { slug: resultOf("app.slug") }

export const createApp = defineOperation({
  name: "integration_apps.create",
  summary: "Add an app of the organization's own, which can then be connected.",
  http: { method: "POST", path },
  access: writing,
  hints: { readOnly: false, destructive: false, idempotent: false },
  input: z.strictObject({ document: DocumentField }),
  output: OwnAppView,
  errors: ["invalid_argument", "already_exists", "resource_exhausted", "aborted"],
  examples: [{ input: { document: example("acme-crm") } }],
  inject: { store: Store, clock: Clock, http: OutgoingHttp, apps: OrganizationApps },
  async handle({ input: { document }, caller, deps, work }) {
    const organization = caller.organization.id
    check(deps.http, document)
    const { slug } = document
    const id = ownAppId(organization, slug)
    const own = deps.store.open(OwnApps, organization)
    if (deps.apps.shared(slug) || (await own.get(id))) throw taken(slug)
    if ((await own.count({})) >= maxOwnApps) {
      throw new AppError("resource_exhausted", `An organization has at most ${maxOwnApps} apps of its own; delete one.`, {
        reason: "too_many_apps",
        limit: maxOwnApps,
      })
    }
    const now = timestamp(deps.clock.now())
    const stored: OwnApp = { id, slug, document, revision: 1, uses: 0, created_at: now, updated_at: now }
    work.in(OwnApps, organization).insert(stored)
    return shown(stored)
  },
  onConflict: async ({ error }) => error,
})

export const getApp = defineOperation({
  name: "integration_apps.get",
  summary: "Read an app of the organization's own.",
  http: { method: "GET", path: appPath },
  access: { scope: "integrations:read", role: "guest" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({ slug: Slug }),
  output: OwnAppView,
  errors: ["not_found"],
  examples: [{ given: exampleApp("read-crm"), input: thatApp }],
  inject: { store: Store },
  handle: async ({ input, caller, deps }) => shown(await required(deps.store, caller.organization.id, input.slug)),
})

export const updateApp = defineOperation({
  name: "integration_apps.update",
  summary: "Replace the document of an app of the organization's own.",
  description: "While the app is connected or has an OAuth client, the hosts that it sends credentials to stay.",
  http: { method: "PATCH", path: appPath },
  access: writing,
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject({
    slug: Slug,
    document: DocumentField,
    expected_revision: z.int().min(1).optional(),
    ...readOnlyInput(readOnlyFields),
  }),
  output: OwnAppView,
  errors: ["invalid_argument", "not_found", "failed_precondition", "aborted"],
  examples: [
    { given: exampleApp("change-crm"), input: { ...thatApp, document: { ...example("change-crm"), name: "Acme" }, expected_revision: 1 } },
  ],
  inject: { store: Store, clock: Clock, http: OutgoingHttp },
  async handle({ input: { slug, document, expected_revision, ...readOnly }, caller, deps, work }) {
    const organization = caller.organization.id
    const stored = await required(deps.store, organization, slug)
    omitReadOnly(readOnly, shown(stored), readOnlyFields)
    requireRevision("app", stored.revision, expected_revision)
    if (document.slug !== slug) throw slugFixed(slug)
    check(deps.http, document)
    const moved = movedField(stored.document, document)
    if (moved !== undefined) await requireUnused(deps.store, organization, slug, `document.${moved}`)
    const change = { document, revision: stored.revision + 1, updated_at: timestamp(deps.clock.now()) }
    const $set = { ...change, document: JSON.parse(JSON.stringify(document)) }
    work.in(OwnApps, organization).update(stored.id, { $set }, { where: { revision: stored.revision, uses: stored.uses } })
    return shown({ ...stored, ...change })
  },
  onConflict: async ({ error }) => error,
})

export const deleteApp = defineOperation({
  name: "integration_apps.delete",
  summary: "Delete an app of the organization's own that is not connected and has no OAuth client.",
  http: { method: "DELETE", path: appPath },
  access: writing,
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject({ slug: Slug }),
  output: z.object({ slug: z.string(), deleted: z.literal(true) }),
  errors: ["not_found", "failed_precondition", "aborted"],
  examples: [{ given: exampleApp("delete-crm"), input: thatApp }],
  inject: { store: Store },
  async handle({ input: { slug }, caller, deps, work }) {
    const organization = caller.organization.id
    const { id, revision, uses } = await required(deps.store, organization, slug)
    await requireUnused(deps.store, organization, slug, "slug")
    work.in(OwnApps, organization).remove(id, { where: { revision, uses } })
    return { slug, deleted: true as const }
  },
})

function check(http: OutgoingHttp, document: AppDocument): void {
  checkHeaders(document.headers)
  checkDestinations(http, document)
}

async function required(store: Store, organization: string, slug: string): Promise<OwnApp> {
  const app = await store.open(OwnApps, organization).get(ownAppId(organization, slug))
  if (app) return app
  throw new AppError("not_found", `The organization has no app ${JSON.stringify(slug)} of its own; GET ${path} lists apps.`, {
    reason: "app_not_found",
  })
}

/** Returns the first field with a changed destination of credentials. */
function movedField(before: AppDocument, after: AppDocument): string | undefined {
  const [old, now] = [destinationsOf(before), destinationsOf(after)]
  return Object.keys({ ...old, ...now }).find((field) => old[field] !== now[field])
}

async function requireUnused(store: Store, organization: string, slug: string, field: string): Promise<void> {
  const used = await store.open(Connections, organization).first({ app: slug, own_app: true })
  const client = await store.open(StoredClients, organization).get(clientDocumentId(organization, slug))
  if (!used && !client) return
  const message = used
    ? `The app "${slug}" is connected; disconnect its integrations first, such as "${used.slug}".`
    : `The app "${slug}" has an OAuth client; delete that first.`
  throw new AppError("failed_precondition", message, { reason: "app_in_use", fields: [{ path: field, message }] })
}

function taken(slug: string): AppError {
  return new AppError("already_exists", `An app "${slug}" exists; give yours another slug.`, { reason: "app_slug_taken" })
}

function slugFixed(slug: string): AppError {
  const message = `expected "${slug}", since an app keeps its slug`
  return new AppError("invalid_argument", `document.slug is refused: ${message}.`, {
    reason: "app_slug_fixed",
    fields: [{ path: "document.slug", message }],
  })
}
