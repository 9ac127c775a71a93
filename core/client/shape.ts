// The types of a client, inferred from the operations' own schemas: `datasets.list_rows` becomes `datasets.listRows`,
// taking what the input schema takes and answering what the output schema gives. Types only.
import type { z } from "zod"
import type { Streamed } from "../contract/operation.ts"
import type { ClientStream } from "./answer.ts"

/** What is read of an operation's type. */
export interface TypedOperation {
  readonly input: z.ZodType
  readonly output: z.ZodType
}

/** Operations by name; a client of any set of plugins is typed by one. */
export type OperationMap = { readonly [name: string]: TypedOperation }

/** Input as it is sent. A schema that coerces says `unknown`; then the type that it makes of it is asked for. */
export type InputOf<O extends TypedOperation> = Asked<z.input<O["input"]>, z.output<O["input"]>>
type Asked<In, Out> = { [K in keyof In]: unknown extends In[K] ? (K extends keyof Out ? Out[K] : In[K]) : In[K] }

/** What a call of an operation resolves to. */
export type OutputOf<O extends TypedOperation> = z.output<O["output"]> extends Streamed ? ClientStream : z.output<O["output"]>

/** What holds for one call. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** For the whole call, repeats included; the client's own unless given. */
  readonly timeoutMs?: number | undefined
  /** Makes calls in different processes one; drawn by the client unless given. */
  readonly idempotencyKey?: string | undefined
  /** UUID or slug of the organization to act in; the client's own unless given. */
  readonly organization?: string | undefined
}

type Args<I> = Record<never, never> extends I ? [input?: I, options?: CallOptions] : [input: I, options?: CallOptions]

/** The element of the one list in an answer. */
type Item<A> = { [K in keyof A]: A[K] extends readonly (infer E)[] ? E : never }[keyof A]

export type Call<O extends TypedOperation> = (...args: Args<InputOf<O>>) => Promise<OutputOf<O>>

export interface Pages<O extends TypedOperation> {
  /** Page after page, each asked for when the one before is done with. */
  pages(...args: Args<InputOf<O>>): AsyncGenerator<OutputOf<O>, void, undefined>
  /** Item after item, across pages. */
  each(...args: Args<InputOf<O>>): AsyncGenerator<Item<OutputOf<O>>, void, undefined>
}

type Paged<O extends TypedOperation> =
  z.output<O["output"]> extends { next_cursor: string }
    ? true
    : z.output<O["output"]> extends { total: number }
      ? "offset" extends keyof z.input<O["input"]>
        ? true
        : false
      : false

export type Method<O extends TypedOperation> = Paged<O> extends true ? Call<O> & Pages<O> : Call<O>

type Camel<Text extends string> = Text extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : Text
type AreaOf<Name> = Name extends `${infer Area}.${string}` ? Area : never

/** Areas with their operations as methods. */
export type Areas<M extends OperationMap> = {
  readonly [Area in AreaOf<keyof M> as Camel<Area>]: {
    readonly [Name in keyof M & `${Area}.${string}` as Name extends `${Area}.${infer Verb}` ? Camel<Verb> : never]: Method<M[Name]>
  }
}
