// Connections with access stored at a broker. A ticket starts the connection, and the user grants access at the broker. The
// broker then lists the grant. Each call uses credentials from the broker.
import { randomBytes } from "node:crypto"
import { z } from "zod"
import {
  AppError,
  type Clock,
  defineJob,
  type JobQueue,
  type Live,
  type OutgoingResponse,
  type PublicUrl,
  type Store,
  timestamp,
  token,
  type UnitOfWork,
  type UnitsOfWork,
} from "#core"
import type { Pauses } from "#core/engine"
import type { AnyIntegrationApp } from "../app.ts"
import { type Connection, Connections } from "../connections.ts"
import { endedHealth, unknownHealth } from "../health/health.ts"
import { tellHealth } from "../health/record.ts"
import type { HealthSchedule } from "../health/schedule.ts"
import { lifeMs, UnknownAuthorization } from "../oauth/authorization.ts"
import { hashed, type Ticket, Tickets } from "../oauth/collections.ts"
import type { Asked } from "../oauth/pages.ts"
import type { OrganizationApps } from "../own-apps/organization-apps.ts"
import { BrokerConnectionEnded, type BrokerCredentials, type Nango } from "./nango.ts"

interface BrokerDeps {
  readonly store: Store
  readonly works: UnitsOfWork
  readonly clock: Clock
  readonly live: Live
  readonly jobs: JobQueue
  readonly publicUrl: PublicUrl
  readonly apps: OrganizationApps
  readonly schedule: HealthSchedule
  readonly pauses: Pauses
  readonly organizationName: (id: string) => Promise<string>
  /** Undefined if no broker is set up. */
  readonly nango: Nango | undefined
}

export const brokerPath = "/v1/integrations/broker"

/** A connection at the broker. The attempt identifies the grant. */
export interface BrokerPlace {
  integration: string
  attempt: string
  connection_id: string | null
}

interface Pending {
  readonly ticket: Ticket
  readonly organization: string
  readonly connection: Connection
  readonly place: BrokerPlace
}

export class Broker {
  readonly #deps: BrokerDeps

  constructor(deps: BrokerDeps) {
    this.#deps = deps
  }

  /** Returns the broker place for a new grant of the app. Returns undefined if the broker does not support the app. */
  placeFor({ document, own }: Pick<AnyIntegrationApp, "document" | "own">): BrokerPlace | undefined {
    const integration = document?.auth.broker?.integration
    if (integration === undefined || own || !this.#deps.nango) return undefined
    return { integration, attempt: secret(), connection_id: null }
  }

  /** Stages a ticket. Returns connect_url. */
  begin(work: UnitOfWork, organization: string, { id, app }: Pick<Connection, "id" | "app">, return_url: string): string {
    const ticket = secret()
    const expires_at = timestamp(this.#deps.clock.now() + lifeMs)
    work.in(Tickets).insert({
      id: ticketId(ticket),
      organization,
      integration_id: id,
      app,
      own_app: false,
      scopes: [],
      return_url,
      opened: 0,
      expires_at,
    })
    return `${this.#deps.publicUrl()}${brokerPath}/connect?ticket=${ticket}`
  }

  /** Handles a browser at connect_url. Throws UnknownAuthorization, or AppError if the broker is unusable. */
  async open(ticketText: string): Promise<Asked> {
    const { organization, connection, place } = await this.#pending(ticketText)
    const location = await this.#nango().session(place.integration, place.attempt, organization)
    const app = await this.#deps.apps.find(organization, connection)
    return {
      app: app?.document?.name ?? connection.app,
      connection: connection.name,
      organization: await this.#deps.organizationName(organization),
      scopes: [],
      location,
    }
  }

  /** Handles the user's return from the broker: connected if the broker lists the grant. Throws as `open`. */
  async finish(ticketText: string): Promise<{ ticket: Ticket; connected: boolean }> {
    const pending = await this.#pending(ticketText)
    const connection_id = await this.#nango().connectionOf(pending.place.integration, pending.place.attempt)
    if (connection_id === undefined) return { ticket: pending.ticket, connected: false }
    await this.#deps.works.retryConflicts(async (work) => {
      const now = await this.#pending(ticketText)
      // A newer authorization has started meanwhile.
      if (now.place.attempt !== pending.place.attempt) throw new UnknownAuthorization()
      await this.#stageConnected(work, now, connection_id)
    })
    return { ticket: pending.ticket, connected: true }
  }

  async #stageConnected(work: UnitOfWork, { ticket, organization, connection, place }: Pending, connection_id: string): Promise<void> {
    const { apps, schedule, clock } = this.#deps
    const app = await apps.find(organization, connection)
    const change = {
      status: "connected" as const,
      credentials: null,
      credential_fields: ["broker"],
      // A connection at a broker cannot be lent.
      managed_access: "none" as const,
      health: { ...unknownHealth },
      authorization_error: null,
      broker: { ...place, connection_id },
      updated_at: timestamp(clock.now()),
    }
    work
      .in(Connections, organization)
      .update(connection.id, { $set: change, $inc: { revision: 1 } }, { where: { revision: connection.revision } })
    work.in(Tickets).remove(ticket.id)
    if (place.connection_id !== connection_id) this.stageEnd(work, organization, connection)
    schedule.set(work, organization, { ...connection, ...change }, app)
  }

  /** Calls with the broker's credentials. If the API answers 401, calls again with refreshed credentials. */
  async call(
    organization: string,
    connection: Connection,
    send: (credentials: BrokerCredentials) => Promise<OutgoingResponse>,
  ): Promise<OutgoingResponse> {
    const first = await send(await this.#credentials(organization, connection, false))
    return first.status === 401 ? await send(await this.#credentials(organization, connection, true)) : first
  }

  /** Stages the end of the connection at the broker. */
  stageEnd(work: UnitOfWork, organization: string, { broker }: Pick<Connection, "broker">): void {
    if (!broker?.connection_id) return
    const { integration, connection_id } = broker
    this.#deps.jobs.enqueue(work, endBrokerConnection, { integration, connection_id }, { organization })
  }

  async end({ integration, connection_id }: { readonly integration: string; readonly connection_id: string }): Promise<void> {
    await this.#nango().end(integration, connection_id)
  }

  async #credentials(organization: string, connection: Connection, force: boolean): Promise<BrokerCredentials> {
    const { broker, slug } = connection
    if (!broker?.connection_id) {
      const message = `The integration "${slug}" is not authorized yet; open its connect_url, or connect it again.`
      throw new AppError("failed_precondition", message, { reason: "integration_unusable", retryable: false })
    }
    try {
      return await this.#nango().credentials(broker.integration, broker.connection_id, force)
    } catch (error) {
      if (!(error instanceof BrokerConnectionEnded)) throw error
      await this.#mark(organization, connection)
      const message = `The authorization of "${slug}" has ended: the connection broker has no valid credentials. Connect it again with rotate_credentials.`
      throw new AppError("failed_precondition", message, { reason: "oauth_expired", retryable: false })
    }
  }

  /** Marks the connection as expired for users. Skips a connection with a newer grant. */
  async #mark(organization: string, connection: Connection): Promise<void> {
    const { works, live, clock } = this.#deps
    const { id, revision } = connection
    if (connection.status === "authorization_expired") return
    const health = endedHealth(connection.health, "The connection broker has no valid credentials", timestamp(clock.now()))
    const $set = { status: "authorization_expired", health: { ...health } }
    const marked = works.run((work) => {
      work.in(Connections, organization).update(id, { $set }, { where: { revision } })
      tellHealth(work, live, organization, connection, health)
    })
    await marked.catch((error: unknown) => {
      if (!(error instanceof AppError)) throw error
    })
  }

  async #pending(ticketText: string): Promise<Pending> {
    const { store, clock } = this.#deps
    const ticket = await store.open(Tickets).get(ticketId(ticketText))
    if (!ticket || Date.parse(ticket.expires_at) <= clock.now()) throw new UnknownAuthorization()
    const { organization } = ticket
    this.#deps.pauses.refuse(organization)
    const connection = await store.open(Connections, organization).get(ticket.integration_id)
    if (!connection?.broker) throw new UnknownAuthorization()
    return { ticket, organization, connection, place: connection.broker }
  }

  #nango(): Nango {
    const { nango } = this.#deps
    if (nango) return nango
    throw new AppError("failed_precondition", "The service has no connection broker; ask the operator.", {
      reason: "authorization_unavailable",
      retryable: false,
    })
  }
}

export const BrokerToken = token<Broker>("connection broker")

export const endBrokerConnection = defineJob({
  type: "integrations.end_broker_connection",
  summary: "Delete a disconnected integration at the connection broker.",
  payload: z.strictObject({ integration: z.string(), connection_id: z.string() }),
  timeoutMs: 60_000,
  inject: { broker: BrokerToken },
  run: ({ payload, deps }) => deps.broker.end(payload),
})

/** Returns the stored id of a ticket. The prefix separates broker tickets from OAuth tickets, because they open other pages. */
function ticketId(ticket: string): string {
  return hashed(`broker ${ticket}`)
}

/** Returns 256 random bits. */
function secret(): string {
  return randomBytes(32).toString("base64url")
}
