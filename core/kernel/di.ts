// Dependency injection: typed tokens over tsyringe's container, no decorators. This is the only file that imports
// tsyringe. A service is created once, on first use, after what it injects; the container remembers the order, so that
// the app can start services in it and stop them backwards.
import "reflect-metadata"
import { type DependencyContainer, instanceCachingFactory, container as root } from "tsyringe"

/** A typed name for a service. Two tokens are the same only when they are the same object. */
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

export type TokenRecord = Readonly<Record<string, Token<unknown>>>

/** What a record of tokens resolves to. */
export type Deps<R extends TokenRecord> = { readonly [K in keyof R]: R[K] extends Token<infer T> ? T : never }

/** How a service comes to be. `start` may be called at most once, after `create`; `stop` may come without `start`. */
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
  readonly #providers = new Map<symbol, { token: Token<unknown>; by: string; inject: TokenRecord }>()
  readonly #creating: string[] = []
  /** What was created, by key: services that must not be injected are asked for again and again. */
  readonly #made = new Map<symbol, unknown>()
  readonly #created: CreatedService[] = []
  readonly #createdByKey = new Map<symbol, CreatedService>()

  /** Services created so far, dependencies first. */
  get created(): readonly CreatedService[] {
    return this.#created
  }

  has(token: Token<unknown>): boolean {
    return this.#providers.has(token.key)
  }

  value<T>(token: Token<T>, value: T, by = "core"): void {
    this.provide(token, { create: () => value }, by)
  }

  /** Throws when the token has a provider already; the message names both. */
  provide<T, R extends TokenRecord>(token: Token<T>, service: Service<T, R>, by = "core"): void {
    const earlier = this.#providers.get(token.key)
    if (earlier) throw new Error(`"${token.name}" is provided by both ${earlier.by} and ${by}; remove one.`)
    this.#providers.set(token.key, { token, by, inject: service.inject ?? {} })
    this.#inner.register(token.key, { useFactory: instanceCachingFactory(() => this.#create(token, service)) })
  }

  /** Throws when nobody provides the token, or when its dependencies form a circle. */
  get<T>(token: Token<T>): T {
    const made = this.#made.get(token.key)
    if (made !== undefined) return made as T
    if (!this.#providers.has(token.key)) {
      const asker = this.#creating.at(-1)
      throw new Error(`Nothing provides "${token.name}"${asker ? `, which "${asker}" injects` : ""}. Is its plugin loaded?`)
    }
    if (this.#creating.includes(token.name)) {
      throw new Error(`Services have circular dependencies: ${[...this.#creating, token.name].join(" -> ")}.`)
    }
    return this.#inner.resolve<T>(token.key)
  }

  all<R extends TokenRecord>(record: R | undefined): Deps<R> {
    const out: Record<string, unknown> = {}
    for (const [name, dependency] of Object.entries(record ?? {})) out[name] = this.get(dependency)
    return out as Deps<R>
  }

  /** These services and what they inject, dependencies first. */
  neededBy(tokens: readonly Token<unknown>[]): CreatedService[] {
    const needed = new Set<CreatedService | undefined>()
    const seen = new Set<symbol>()
    const add = (token: Token<unknown>) => {
      if (seen.has(token.key)) return
      seen.add(token.key)
      this.get(token)
      for (const dependency of Object.values(this.#providers.get(token.key)?.inject ?? {})) add(dependency)
      needed.add(this.#createdByKey.get(token.key))
    }
    for (const token of tokens) add(token)
    return this.#created.filter((service) => needed.has(service))
  }

  /** Creates every service, in the order in which they were offered; throws with every problem it met. */
  everything(): void {
    const problems = new Set<string>()
    for (const { token } of this.#providers.values()) {
      try {
        this.get(token)
      } catch (error) {
        problems.add((error as Error).message)
      }
    }
    if (problems.size > 0) throw new Error([...problems].join("\n"))
  }

  #create<T, R extends TokenRecord>({ name, key }: Token<T>, service: Service<T, R>): T {
    this.#creating.push(name)
    try {
      const made = service.create(this.all(service.inject))
      const created = { name, start: async () => service.start?.(made), stop: async () => service.stop?.(made) }
      this.#created.push(created)
      this.#createdByKey.set(key, created)
      this.#made.set(key, made)
      return made
    } finally {
      this.#creating.pop()
    }
  }
}
