// What a plugin can declare, and `definePlugin`. Everything is checked as it is declared; nothing is started here.
import type { z } from "zod"
import type { Service, Token, TokenRecord } from "../kernel/di.ts"
import type { Plugin } from "../kernel/plugin.ts"
import type { AnyAction } from "./action.ts"
import type { AnyAuthMode } from "./auth-mode.ts"
import type { Channel } from "./channel.ts"
import type { CollectionSpec } from "./collection.ts"
import type { AnyJob } from "./job.ts"
import type { AnyOperation } from "./operation.ts"

export interface Registrar {
  /** Offers a service under a token, to plugins that name this one in `needs` (and to core where core declares the token). */
  provide<T, R extends TokenRecord>(token: Token<T>, service: Service<T, R>): void
  /** Creates the service at boot even when nobody injects it; for what has only a `start`. */
  run<R extends TokenRecord>(name: string, service: Service<unknown, R>): void
  operations(...operations: AnyOperation[]): void
  actions(...actions: AnyAction[]): void
  authModes(...modes: AnyAuthMode[]): void
  collections(...collections: CollectionSpec[]): void
  jobs(...jobs: AnyJob[]): void
  channels(...channels: Channel[]): void
}

// biome-ignore lint/suspicious/noExplicitAny: the loader holds plugins of every config type.
export type AnyPlugin = Plugin<Registrar, any>

export function definePlugin<C extends z.ZodType>(plugin: Plugin<Registrar, C>): Plugin<Registrar, C> {
  return plugin
}
