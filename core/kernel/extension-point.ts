// Extension points. A plugin declares a point, and other plugins add items to it. A service that injects the point
// receives the items of all plugins, each plugin after its needs.
import { type Container, type Deps, type Token, type TokenRecord, token } from "./di.ts"

/** A list with items from other plugins. The list is complete once all services exist. */
export interface ExtensionPoint<T> extends Token<readonly T[]> {
  /** True if the service does not start without an item. */
  readonly isRequired: boolean
}

/** Declares an extension point. Its id begins with the id of its plugin: `email.guards`. */
export function defineExtensionPoint<T>({ id, isRequired = false }: { id: string; isRequired?: boolean }): ExtensionPoint<T> {
  return { ...token<readonly T[]>(id), isRequired }
}

/** An item that the container creates with its dependencies. */
export class Injected<T> {
  readonly inject: TokenRecord
  readonly create: (deps: never) => T

  constructor(inject: TokenRecord, create: (deps: never) => T) {
    this.inject = inject
    this.create = create
  }
}

/** Makes an item of an extension point from services. */
export function injected<T, const R extends TokenRecord>(inject: R, create: (deps: Deps<R>) => T): Injected<T> {
  return new Injected(inject, create as (deps: never) => T)
}

/** A point with its item, by the type of each item. */
export type Extensions<T extends readonly unknown[]> = {
  readonly [K in keyof T]: readonly [ExtensionPoint<T[K]>, NoInfer<T[K] | Injected<T[K]>>]
}

// biome-ignore lint/suspicious/noExplicitAny: the loader holds items of every type.
export type AnyExtension = readonly [ExtensionPoint<any>, unknown]

/** The extension points and items of a plugin. */
export interface Extending {
  readonly id: string
  readonly needs: readonly string[]
  readonly points: readonly ExtensionPoint<unknown>[]
  readonly extend: readonly AnyExtension[]
}

interface Declaring {
  readonly id: string
  readonly needs?: readonly string[]
  readonly extensionPoints?: readonly ExtensionPoint<unknown>[]
  readonly extend?: readonly AnyExtension[] | ((config: never) => readonly AnyExtension[])
}

/** Returns the points and extensions of a plugin. Refused settings are undefined and result in no extensions. */
export function extending({ id, needs = [], extensionPoints: points = [], extend = [] }: Declaring, config: unknown): Extending {
  if (typeof extend !== "function") return { id, needs, points, extend }
  return { id, needs, points, extend: config === undefined ? [] : extend(config as never) }
}

/** Provides the points of a plugin and its items for other points. */
export function provideExtensions(container: Container, { id, points, extend }: Extending): Token<unknown>[] {
  for (const point of points) container.provide(point, { create: (): unknown[] => [] }, id)
  return extend.map(([point, item], index) => {
    const own = token(`${id} for ${point.name} (${index + 1})`)
    const inject = { ...(item instanceof Injected ? item.inject : {}), [pointKey]: point }
    const create = ({ [pointKey]: items, ...deps }: Deps<TokenRecord>) => {
      const made = item instanceof Injected ? (item as Injected<unknown>).create(deps as never) : item
      ;(items as unknown[]).push(made)
      return made
    }
    container.provide(own, { inject, create }, id)
    return own
  })
}

const pointKey = "extension point"

interface Owner {
  readonly point: ExtensionPoint<unknown>
  readonly id: string
}

/** Lists missing points, illegal edges and duplicates. */
export function extensionProblems(plugins: readonly Extending[]): string[] {
  const problems: string[] = []
  const owners = ownersOf(plugins, problems)
  for (const plugin of plugins) for (const [index] of plugin.extend.entries()) problems.push(...problemsOf(plugin, index, owners))
  const extended = new Set(plugins.flatMap(({ extend }) => extend.map(([point]) => point.name)))
  for (const [name, { point, id }] of owners) {
    if (point.isRequired && !extended.has(name))
      problems.push(`The plugin "${id}" requires an item for "${name}", but no loaded plugin adds one.`)
  }
  return problems
}

function ownersOf(plugins: readonly Extending[], problems: string[]): Map<string, Owner> {
  const owners = new Map<string, Owner>()
  for (const { id, points } of plugins) {
    for (const point of points) {
      const owner = owners.get(point.name)
      if (owner) problems.push(`The extension point "${point.name}" is declared by both ${owner.id} and ${id}; rename one.`)
      else owners.set(point.name, { point, id })
      if (!point.name.startsWith(`${id}.`))
        problems.push(`The extension point "${point.name}" of the plugin "${id}" must be named "${id}.<name>".`)
    }
  }
  return owners
}

function problemsOf({ id, needs, extend }: Extending, index: number, owners: ReadonlyMap<string, Owner>): string[] {
  const [point, item] = extend[index] as AnyExtension
  const owner = owners.get(point.name)
  const edge = `The plugin "${id}" extends "${point.name}"`
  const isTwice = extend.slice(0, index).some(([other, earlier]) => other === point && earlier === item)
  const twice = isTwice ? [`${edge} twice with the same item; remove one.`] : []
  if (!owner) return [...twice, `${edge}, but no loaded plugin declares this extension point. Load its plugin, or remove the extension.`]
  if (owner.point !== point) return [...twice, `${edge}, but "${owner.id}" declares another extension point with this id.`]
  if (owner.id === id || needs.includes(owner.id)) return twice
  return [...twice, `${edge}, but does not need "${owner.id}". Add "${owner.id}" to its needs.`]
}
