// The declarations of a plugin, and `definePlugin`. Declarations are checked here. Services start later.
import type { z } from "zod"
import { type Container, type Injectable, type Key, type Service, type Token, type TokenRecord, token } from "../kernel/di.ts"
import { extending, provideExtensions } from "../kernel/extension-point.ts"
import type { Plugin } from "../kernel/plugin.ts"
import type { DeclarationKind, Registry } from "../kernel/registry.ts"
import { Actions, type AnyAction, assertAction } from "./action.ts"
import { type AnyAuthMode, AuthModes } from "./auth-mode.ts"
import { type Channel, Channels } from "./channel.ts"
import { type CollectionSpec, Collections } from "./collection.ts"
import { type AnyJob, Jobs } from "./job.ts"
import { type CrossDocumentRule, CrossDocumentRules } from "./lint-rule.ts"
import { type AnyOperation, Operations } from "./operation.ts"
import { type RehearsalFixture, RehearsalFixturePoint } from "./rehearsal.ts"
import { collectionsOf, type DeclaredResource, operationsOf, Resources } from "./resource.ts"
import { type AnyRoute, Routes } from "./route.ts"
import { type AnySchedule, Schedules } from "./schedule.ts"

/** The argument of a plugin's `register`: one method for each kind of declaration. */
export interface Registrar {
  /** Offers a service under a token, to plugins with this plugin in `needs`. Core sees it if core declares the token. */
  provide<T, R extends TokenRecord>(token: Token<T>, service: Service<T, R>): void
  /**
   * Offers an instance of a class under the class itself. Use `create` for a constructor with other arguments than the
   * dependencies.
   */
  provide<T, R extends TokenRecord>(key: Injectable<T, R>, service?: Partial<Omit<Service<T, R>, "inject">>): void
  /** Creates the service at boot without any user. Suits services with only a `start`. */
  run<T, R extends TokenRecord>(name: string, service: Service<T, R>): void
  operations(...operations: AnyOperation[]): void
  /** Registers the collection and the operations of each resource. */
  resources(...resources: DeclaredResource[]): void
  actions(...actions: AnyAction[]): void
  authModes(...modes: AnyAuthMode[]): void
  collections(...collections: CollectionSpec[]): void
  jobs(...jobs: AnyJob[]): void
  /** Jobs at the times of a cron expression, as long as the plugin is loaded. */
  schedules(...schedules: AnySchedule[]): void
  channels(...channels: Channel[]): void
  routes(...routes: AnyRoute[]): void
  lintRules(...rules: CrossDocumentRule[]): void
  /** Fixtures of this plugin for a rehearsal of pipelines. */
  rehearsal(...fixtures: RehearsalFixture[]): void
}

// biome-ignore lint/suspicious/noExplicitAny: the loader holds plugins of every config type.
export type AnyPlugin = Plugin<Registrar, any, any>

/** Declares a plugin; the default export of its `index.ts`. */
export function definePlugin<C extends z.ZodType, const E extends readonly unknown[] = []>(
  plugin: Plugin<Registrar, C, E>,
): Plugin<Registrar, C, E> {
  return plugin
}

/** Registers the declarations, points and extensions of a plugin. Returns the services without a user. */
export function registerPlugin(plugin: AnyPlugin, config: unknown, container: Container, registry: Registry): Token<unknown>[] {
  const ran: Token<unknown>[] = []
  plugin.register(registrarFor(plugin.id, container, registry, ran), config)
  return [...ran, ...provideExtensions(container, extending(plugin, config))]
}

/** Returns the registrar of one plugin. Declarations are stored under the plugin's id. */
function registrarFor(plugin: string, container: Container, registry: Registry, ran: Token<unknown>[]): Registrar {
  const add =
    <T>(point: DeclarationKind<T>) =>
    (...items: T[]) => {
      for (const item of items) registry.add(point, item, plugin)
    }
  return {
    provide: (key: Token<unknown> | Injectable, service?: Partial<Service<unknown>>) => {
      const own = typeof key === "function" ? { inject: key.inject, create: (deps: never) => new key(deps) } : {}
      container.provide(key as Key<unknown>, { ...own, ...service } as Service<unknown>, plugin)
    },
    run: <T, R extends TokenRecord>(name: string, service: Service<T, R>) => {
      const own = token<T>(`${plugin}/${name}`)
      container.provide(own, service, plugin)
      ran.push(own)
    },
    operations: add(Operations),
    resources: (...resources: DeclaredResource[]) => {
      add(Resources)(...resources)
      add(Collections)(...resources.flatMap(collectionsOf))
      add(Operations)(...resources.flatMap(operationsOf))
    },
    actions: (...actions: AnyAction[]) => {
      for (const action of actions) assertAction(action)
      add(Actions)(...actions)
    },
    authModes: add(AuthModes),
    collections: add(Collections),
    jobs: add(Jobs),
    schedules: add(Schedules),
    channels: add(Channels),
    routes: add(Routes),
    lintRules: add(CrossDocumentRules),
    rehearsal: add(RehearsalFixturePoint),
  }
}

/** The declarations of all plugins, by kind. */
export type Declarations = Registry

/** The declarations of the loaded plugins, for code that looks them up at run time. */
export const Declarations = token<Declarations>("Declarations")
