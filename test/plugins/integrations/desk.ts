// A store in its own folder with the dependencies of integration operations, and callers of several kinds.

import { randomBytes } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Caller, Role, Surface } from "../../../core/contract/caller.ts"
import type { AnyOperation } from "../../../core/contract/operation.ts"
import { createPauses } from "../../../core/contract/pauses.ts"
import { StagedWork } from "../../../core/contract/unit-of-work.ts"
import { DurableScheduler, ScheduleCollection } from "../../../core/jobs/schedules.ts"
import { systemClock } from "../../../core/kernel/clock.ts"
import { timeOrderedIds } from "../../../core/kernel/ids.ts"
import { createLog } from "../../../core/kernel/log.ts"
import { createVault } from "../../../core/kernel/vault.ts"
import { createSqliteDriver } from "../../../core/storage/sqlite/driver.ts"
import { createStore } from "../../../core/storage/store.ts"
import { AuditLog, audit } from "../../../core/surface/call/audit.ts"
import { createPager } from "../../../core/surface/pager.ts"
import { createUnitsOfWork } from "../../../core/surface/units-of-work.ts"
import { type AnyIntegrationApp, createIntegrationApps } from "../../../plugins/agents/integrations/app.ts"
import { httpApp } from "../../../plugins/agents/integrations/apps/http.ts"
import { Connections } from "../../../plugins/agents/integrations/connections.ts"
import { HealthSchedule } from "../../../plugins/agents/integrations/health/schedule.ts"
import { createIntegrations } from "../../../plugins/agents/integrations/integrations.ts"
import { CallCounts } from "../../../plugins/agents/integrations/limits/collections.ts"
import { OwnApps } from "../../../plugins/agents/integrations/own-apps/collections.ts"
import { OrganizationApps } from "../../../plugins/agents/integrations/own-apps/organization-apps.ts"
import { createOutgoingHttp } from "../../../plugins/platform/outgoing-http/client.ts"
import { outgoing } from "../outgoing-http/loopback-peer.ts"

export const acme = { id: "0190a000-0000-7000-8000-00000000000a", slug: "acme", name: "Acme" }
export const other = { id: "0190a000-0000-7000-8000-00000000000b", slug: "other", name: "Other" }

/** Type of answers in tests. */
export type Answer = Record<string, unknown> & { integration_id: string; integrations: Record<string, unknown>[] }

export async function openDesk(allowHost: string, ...apps: AnyIntegrationApp[]) {
  const folder = await mkdtemp(join(tmpdir(), "millrace-integrations-"))
  const ids = timeOrderedIds(systemClock)
  const driver = createSqliteDriver({ file: join(folder, "store.db"), clock: systemClock })
  const store = createStore({ driver, collections: [Connections, OwnApps, CallCounts, ScheduleCollection, AuditLog], clock: systemClock })
  await store.start()
  const vault = createVault(randomBytes(32))
  const http = createOutgoingHttp(outgoing(allowHost))
  const registry = new OrganizationApps({ store, apps: createIntegrationApps(httpApp, ...apps) })
  const managers = new Map<string, string>()
  const managerOf = async (organization: string) => managers.get(organization)
  const works = createUnitsOfWork({ store, ids, clock: systemClock })
  const integrations = createIntegrations({
    store,
    works,
    vault,
    http,
    apps: registry,
    oauth: noOAuth,
    broker: noBroker,
    clock: systemClock,
    guards: [],
    managerOf,
  })
  // No schedules exist here, so the scheduler creates no jobs; health.test.ts has a whole service.
  const scheduler = new DurableScheduler({
    store,
    queue: undefined as never,
    clock: systemClock,
    ids,
    log: createLog("silent"),
    jobs: new Map(),
    declared: [],
    pauses: createPauses(),
  })
  const schedule = new HealthSchedule({ scheduler, vault, interval: "off" })
  const pager = createPager({ key: vault.keyFor("cursor") })
  const deps = {
    store,
    vault,
    http,
    apps: registry,
    oauth: noOAuth,
    broker: noBroker,
    revocation: noOAuth.revocation,
    clock: systemClock,
    ids,
    schedule,
    pager,
    organizations: { byId: async () => undefined },
  }
  return {
    folder,
    store,
    managers,
    integrations,
    /** Like the call path: parses, handles, checks the output, and commits with the audit record. */
    async call(operation: AnyOperation, options: object, caller: Caller): Promise<Answer> {
      const input: unknown = operation.input.parse(options)
      const work = new StagedWork(ids.uuid())
      const output = await operation.handle({
        input,
        caller,
        deps: deps as never,
        work,
        signal: new AbortController().signal,
        callId: ids.uuid(),
      })
      const answer: unknown = operation.output.parse(output)
      if (!operation.hints.readOnly) audit({ work, operation, caller, input, id: ids.uuid(), now: Date.now(), keptDays: 1 })
      await work.committed(await store.commit(work.commit))
      return answer as Answer
    },
    /** Removes all connections and managers. */
    async clear() {
      managers.clear()
      const work = new StagedWork(ids.uuid())
      for (const { id: organization } of [acme, other]) {
        for (const { id } of await store.open(Connections, organization).find({})) work.in(Connections, organization).remove(id)
      }
      if (work.writes.length > 0) await store.commit(work.commit)
    },
    /** Returns all stored bytes as text. */
    onDisk: () =>
      readdirSync(folder)
        .map((file) => readFileSync(join(folder, file), "latin1"))
        .join("\n"),
    async close() {
      await http.close()
      await store.stop()
      await rm(folder, { recursive: true })
    },
  }
}

/** Apps of the desk use no OAuth; tests of OAuth use a whole service. */
const noOAuth = {
  canGrant: async () => false,
  revocation: { stage: async () => undefined },
  get access(): never {
    throw new Error("No app of this desk is connected by OAuth.")
  },
  get serviceTokens(): never {
    throw new Error("No app of this desk takes service accounts.")
  },
}

const noBroker = {
  placeFor: () => undefined,
  stageEnd: () => undefined,
  call: (): never => {
    throw new Error("No app of this desk is connected by a broker.")
  },
}

export type Desk = Awaited<ReturnType<typeof openDesk>>

export function callerOf(input: { user?: string; role?: Role; surface?: Surface; organization?: typeof acme } = {}): Caller {
  const { user = "ada", role = "admin", surface = "rest", organization = acme } = input
  return {
    organization,
    role,
    scopes: undefined,
    credential: { id: `key-${user}`, kind: "api_key", manager: false },
    user: { id: user, email: `${user}@example.com`, staff: false },
    surface,
    requestId: "request-1",
    log: createLog("silent"),
  }
}
