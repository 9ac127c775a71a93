// Dependency injection over tsyringe's container, without decorators. Only this file imports tsyringe. The container creates
// a service once, at its first use, after the services that it injects. It keeps this order: the app starts services in it,
// and stops them in the opposite order.
//
// A class with a static `inject` is its own key. A token names a port between layers, or one of several services of a type.
import "reflect-metadata"
import { type DependencyContainer, instanceCachingFactory, container as root } from "tsyringe"

/** A typed name for a service. Two tokens are equal only if they are the same object. */
export interface Token<T> {
  readonly name: string
  readonly key: symbol
  /** Never set; carries the type. */
  readonly type?: T
}

/** Names a service that one plugin provides and others inject. */
export function token<T>(name: string): Token<T> {
  return { name, key: Symbol(name) }
}

/** A class whose instance the container creates. */
type Class<T> = abstract new (...args: never[]) => T

/** Names a service. */
export type Key<T> = Token<T> | Class<T>

export type TokenRecord = Readonly<Record<string, Key<unknown>>>

type ServiceOf<K> = K extends Token<infer T> ? T : K extends Class<infer T> ? T : never

/** The services of a record of keys. */
export type Deps<R extends TokenRecord> = { readonly [K in keyof R]: ServiceOf<R[K]> }

/** A class that names its dependencies. Its constructor takes `Deps<typeof TheClass.inject>`. */
export interface Injectable<T = unknown, R extends TokenRecord = TokenRecord> {
  new (deps: never): T
  readonly inject: R
}

/** The life of a service. `start` runs at most once, after `create`. `stop` may run without `start`. */
export interface Service<T, R extends TokenRecord = TokenRecord> {
  inject?: R
  create(deps: Deps<R>): T
  start?(service: T): Promise<void> | void
  stop?(service: T): Promise<void> | void
}

export interface CreatedService {
  name: string
  start(): Promise<void>
  stop(): Promise<void>
}

export class Container {
  readonly #inner: DependencyContainer = root.createChildContainer()
  readonly #providers = new Map<symbol | Class<unknown>, { key: Key<unknown>; by: string; inject: TokenRecord }>()
  readonly #creating: Key<unknown>[] = []
  /** Created services. Operations read their services at each call. */
  readonly #made = new Map<symbol | Class<unknown>, unknown>()
  readonly #created: CreatedService[] = []
  readonly #createdByKey = new Map<symbol | Class<unknown>, CreatedService>()

  /** Services created so far, dependencies first. */
  get created(): readonly CreatedService[] {
    return this.#created
  }

  has(key: Key<unknown>): boolean {
    return this.#providers.has(idOf(key))
  }

  value<T>(token: Token<T>, value: T, by = "core"): void {
    this.provide(token, { create: () => value }, by)
  }

  /** Throws if the key has a provider; the message names both. */
  provide<T, R extends TokenRecord>(key: Key<T>, service: Service<T, R>, by = "core"): void {
    const id = idOf(key)
    const earlier = this.#providers.get(id)
    if (earlier) throw new Error(`"${key.name}" is provided by both ${earlier.by} and ${by}; remove one.`)
    this.#providers.set(id, { key, by, inject: service.inject ?? {} })
    this.#inner.register(id as symbol, { useFactory: instanceCachingFactory(() => this.#create(key, service)) })
  }

  /** Throws if no plugin provides the key, or if its dependencies form a circle. */
  get<T>(key: Key<T>): T {
    const id = idOf(key)
    const made = this.#made.get(id)
    if (made !== undefined) return made as T
    if (!this.#providers.has(id)) {
      const asker = this.#creating.at(-1)?.name
      throw new Error(`Nothing provides "${key.name}"${asker ? `, which "${asker}" injects` : ""}. Is its plugin loaded?`)
    }
    if (this.#creating.includes(key)) {
      throw new Error(`Services have circular dependencies: ${[...this.#creating, key].map(({ name }) => name).join(" -> ")}.`)
    }
    return this.#inner.resolve<T>(id as symbol)
  }

  all<R extends TokenRecord>(record: R | undefined): Deps<R> {
    const out: Record<string, unknown> = {}
    for (const [name, dependency] of Object.entries(record ?? {})) out[name] = this.get(dependency)
    return out as Deps<R>
  }

  /** Returns these services and their dependencies, dependencies first. */
  neededBy(keys: readonly Key<unknown>[]): CreatedService[] {
    const needed = new Set<CreatedService | undefined>()
    const seen = new Set<Key<unknown>>()
    const add = (key: Key<unknown>) => {
      if (seen.has(key)) return
      seen.add(key)
      this.get(key)
      for (const dependency of Object.values(this.#providers.get(idOf(key))?.inject ?? {})) add(dependency)
      needed.add(this.#createdByKey.get(idOf(key)))
    }
    for (const key of keys) add(key)
    return this.#created.filter((service) => needed.has(service))
  }

  /** Creates every service in registration order. Throws one error with all problems. */
  everything(): void {
    const problems = new Set<string>()
    for (const { key } of this.#providers.values()) {
      try {
        this.get(key)
      } catch (error) {
        problems.add((error as Error).message)
      }
    }
    if (problems.size > 0) throw new Error([...problems].join("\n"))
  }

  #create<T, R extends TokenRecord>(key: Key<T>, service: Service<T, R>): T {
    this.#creating.push(key)
    try {
      const made = service.create(this.all(service.inject))
      const created = { name: key.name, start: async () => service.start?.(made), stop: async () => service.stop?.(made) }
      this.#created.push(created)
      this.#createdByKey.set(idOf(key), created)
      this.#made.set(idOf(key), made)
      return made
    } finally {
      this.#creating.pop()
    }
  }
}

function idOf(key: Key<unknown>): symbol | Class<unknown> {
  return typeof key === "function" ? key : key.key
}
