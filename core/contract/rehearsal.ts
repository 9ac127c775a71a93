// Fixtures of a pipeline rehearsal (tests, dry runs on a temporary service). The plugin that owns the data offers the fixture.
import type { z } from "zod"
import type { DeclarationKind } from "../kernel/registry.ts"
import type { Caller } from "./caller.ts"
import type { Document, Json } from "./collection.ts"
import type { Operation } from "./operation.ts"
import type { Store } from "./store.ts"

/** The argument of a rehearsal fixture. */
export interface RehearsalContext {
  /** A caller with all rights in the rehearsal's organization. */
  readonly caller: Caller
  readonly store: Store
  /** Milliseconds since the epoch. */
  readonly now: number
  /** Calls an operation as `caller`. Throws AppError like the operation. */
  // biome-ignore lint/suspicious/noExplicitAny: operations inject any services.
  call<I extends z.ZodType, O extends z.ZodType>(operation: Operation<I, O, any>, input: z.input<I>): Promise<z.output<O>>
}

/** An integration that a rehearsal connects. */
export interface RehearsedConnection {
  /** The connection's name in pipelines. */
  readonly slug: string
  readonly base_url: string
  readonly headers?: Readonly<Record<string, string>> | undefined
}

export interface RehearsalFixtures {
  /** Registers the caller's organization. An organization with the same slug is replaced. */
  organization(context: RehearsalContext): Promise<void>
  /** Creates an active pipeline from a document. `inbound_url` is null without an endpoint. */
  pipeline(context: RehearsalContext, document: Readonly<Record<string, unknown>>): Promise<{ id: string; inbound_url: string | null }>
  /** Publishes a page and returns its id. */
  page(context: RehearsalContext): Promise<string>
  /** Connects an integration that pipelines call over HTTP. */
  connection(context: RehearsalContext, connection: RehearsedConnection): Promise<void>
  /** All rows of a dataset, by its slug. */
  rows(context: RehearsalContext, dataset: string): Promise<readonly (Document & { readonly values: Record<string, Json> })[]>
  /** Opens every gate of the caller's organization, so no step waits for approval. Optional: a plugin may omit this fixture. */
  open_gates(context: RehearsalContext): Promise<void>
}

/** A fixture in a plugin's declaration. */
export type RehearsalFixture = {
  [K in keyof RehearsalFixtures]: { readonly name: K; readonly run: RehearsalFixtures[K] }
}[keyof RehearsalFixtures]

export const RehearsalFixturePoint: DeclarationKind<RehearsalFixture> = { kind: "rehearsal fixture", nameOf: ({ name }) => name }
