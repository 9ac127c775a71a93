// What a rehearsal of pipelines (tests, dry runs on a temporary service) asks of the areas of the API: each fixture is
// offered by the plugin that owns what it makes or reads.
import type { z } from "zod"
import type { DeclarationKind } from "../kernel/registry.ts"
import type { Caller } from "./caller.ts"
import type { Document, Json } from "./collection.ts"
import type { Operation } from "./operation.ts"
import type { Store } from "./store.ts"

/** What a rehearsal fixture is given. */
export interface RehearsalContext {
  /** Who may do everything in the organization of the rehearsal. */
  readonly caller: Caller
  readonly store: Store
  /** Milliseconds since the epoch. */
  readonly now: number
  /** Calls an operation as `caller`; throws AppError as it does. */
  // biome-ignore lint/suspicious/noExplicitAny: operations inject any services.
  call<I extends z.ZodType, O extends z.ZodType>(operation: Operation<I, O, any>, input: z.input<I>): Promise<z.output<O>>
}

/** An integration that a rehearsal connects. */
export interface RehearsedConnection {
  /** What pipelines name it by. */
  readonly slug: string
  readonly base_url: string
  readonly headers?: Readonly<Record<string, string>> | undefined
}

export interface RehearsalFixtures {
  /** Registers the caller's organization; one that has its slug already is replaced. */
  organization(context: RehearsalContext): Promise<void>
  /** Makes an active pipeline of a document. `inbound_url` is null where it has no endpoint. */
  pipeline(context: RehearsalContext, document: Readonly<Record<string, unknown>>): Promise<{ id: string; inbound_url: string | null }>
  /** Publishes a page and returns its id. */
  page(context: RehearsalContext): Promise<string>
  /** Connects an integration that pipelines call over HTTP. */
  connection(context: RehearsalContext, connection: RehearsedConnection): Promise<void>
  /** All rows of a dataset, by its slug. */
  rows(context: RehearsalContext, dataset: string): Promise<readonly (Document & { readonly values: Record<string, Json> })[]>
  /** Opens every gate of the caller's organization, so that nothing waits for a person. Optional: no plugin has to offer it. */
  open_gates(context: RehearsalContext): Promise<void>
}

/** One fixture, as a plugin declares it. */
export type RehearsalFixture = {
  [K in keyof RehearsalFixtures]: { readonly name: K; readonly run: RehearsalFixtures[K] }
}[keyof RehearsalFixtures]

export const RehearsalFixturePoint: DeclarationKind<RehearsalFixture> = { kind: "rehearsal fixture", nameOf: ({ name }) => name }
