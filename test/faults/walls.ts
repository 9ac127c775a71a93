// Faults in the walls between organizations: another organization reads, lists or names foreign documents.
import { type Fault, withoutWall } from "./fault.ts"

const walls = "test/surface/parity/walls.test.ts"
const byName = (operation: string) => `another organization gets not_found for a slug or an id: ${operation}`
const listIsEmpty = (operation: string) => `another organization gets nothing in a list: ${operation}`

/** Collection, operation with a document's name, and the noun of the rule. */
const names: readonly (readonly [collection: string, operation: string, what: string])[] = [
  ["datasets", "datasets.get", "a dataset"],
  ["pages", "pages.get", "a page"],
  ["executions", "events.get", "an event"],
  ["leads", "leads.get", "a lead"],
  ["suppressions", "suppressions.get", "a suppression"],
  ["heartbeats", "heartbeats.get", "a heartbeat"],
  ["knowledge_items", "knowledge.get", "a knowledge item"],
  ["agents", "agents.get", "an agent"],
  ["threads", "threads.get", "a thread"],
  ["workstreams", "workstreams.get", "a workstream"],
  ["page_experiments", "experiments.get", "an experiment"],
  ["integrations", "integrations.get", "a connection"],
  ["approval_requests", "approvals.get", "an approval"],
  ["screenshots", "screenshots.result", "a screenshot"],
  ["text_conversations", "text_conversations.get", "a conversation"],
]

const lists: readonly (readonly [collection: string, operation: string, what: string])[] = [
  ["consents", "consents.list", "consents"],
  ["api_keys", "api_keys.list", "keys"],
  ["audit_log", "audit_log.list", "audit records"],
  ["caller_name_registrations", "voice.list_caller_name_registrations", "caller names"],
  ["memberships", "members.list", "members"],
  ["eval_suites", "evals.list_suites", "eval suites"],
  ["sending_domains", "sending_domains.list", "sending domains"],
]

export const wallFaults: readonly Fault[] = [
  ...names.map(([collection, operation, what]) =>
    withoutWall(collection, `Another organization reads ${what} by its id`, walls, byName(operation)),
  ),
  ...lists.map(([collection, operation, what]) =>
    withoutWall(collection, `Another organization lists ${what}`, walls, listIsEmpty(operation)),
  ),
  {
    rule: "A person ends a session of another person",
    file: "plugins/platform/identity/operations/sessions.ts",
    find: "session?.user_id !== user",
    replace: "session === undefined",
    test: "test/plugins/identity/user-sessions.test.ts",
    title: "interactive sessions are listed and ended by their person alone",
  },
  {
    rule: "Another organization retries a job by its id",
    file: "plugins/platform/jobs/operations.ts",
    find: "job?.organization !== organization",
    replace: "job === undefined",
    test: walls,
    title: byName("jobs.get"),
  },
  {
    rule: "A pipeline writes rows into a dataset of another organization",
    file: "plugins/data/datasets/dataset.ts",
    find: "dot !== -1 && text.slice(0, dot) !== organizationSlug",
    replace: "false",
    test: "test/plugins/datasets/row-writer.test.ts",
    title: "row writer references take the organization's own qualified slug, and no other's, nor a UUID",
  },
  {
    rule: "A key acts in every organization that it names",
    file: "plugins/platform/organizations/reach.ts",
    find: "!isOwn && organization.managed_by?.id !== owner",
    replace: "false",
    test: "test/surface/parity/access.test.ts",
    title: "every operation does not act in an organization out of the key's reach",
  },
  {
    rule: "A viewer's token opens the endpoint of another organization",
    file: "core/surface/live/admission.ts",
    find: 'session && "organization_id" in session && session.organization_id === organization',
    replace: 'session && "organization_id" in session',
    test: "test/client/viewer-live.test.ts",
    title: "a viewer's token needs the endpoint, is refused when it was changed, and opens nothing of another organization",
  },
  {
    rule: "A document is written for another organization than the one it carries",
    file: "core/storage/scope.ts",
    find: "carried === undefined || carried === organization",
    replace: "true",
    test: "test/storage/scope.test.ts",
    title: "organization walls refuses writes without, with a needless or with another organization",
  },
]
