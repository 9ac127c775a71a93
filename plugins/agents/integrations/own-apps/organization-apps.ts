// The apps available to an organization: the service's apps, and its own. A connection stays with its original app, so a later
// app with the same name gets no credentials of another.
import { type Deps, Store } from "#core"
import { type AnyIntegrationApp, IntegrationApps, unknownApp } from "../app.ts"
import { appOf } from "../apps/from-document.ts"
import { type OwnApp, OwnApps, ownAppId } from "./collections.ts"

/** A reference to an app in documents. */
export interface AppRef {
  readonly app: string
  /** True for an app of the organization itself. */
  readonly own_app: boolean
}

export const maxOwnApps = 100
const maxCached = 200

export class OrganizationApps {
  static readonly inject = { store: Store, apps: IntegrationApps }
  readonly #store: Store
  readonly #apps: IntegrationApps
  /** Document apps, by id, revision and creation time. A new app has the id of a deleted app with the same slug. */
  readonly #cache = new Map<string, AnyIntegrationApp>()

  constructor({ store, apps }: Deps<typeof OrganizationApps.inject>) {
    this.#store = store
    this.#apps = apps
  }

  /** Returns the app with this name. Throws `invalid_argument` with the list of apps. */
  async named(organization: string, name: string): Promise<AnyIntegrationApp> {
    const found = (await this.find(organization, { app: name, own_app: true })) ?? this.shared(name)
    if (found) return found
    throw unknownApp(name, (await this.all(organization)).map((app) => app.name).sort())
  }

  async find(organization: string, { app, own_app }: AppRef): Promise<AnyIntegrationApp | undefined> {
    if (!own_app) return this.shared(app)
    const stored = await this.#store.open(OwnApps, organization).get(ownAppId(organization, app))
    return stored && this.#appOf(stored)
  }

  async all(organization: string): Promise<AnyIntegrationApp[]> {
    const own = await this.#store.open(OwnApps, organization).find({}, { limit: maxOwnApps })
    return [...this.#apps.all(), ...own.map((stored) => this.#appOf(stored))]
  }

  /** Returns an app of the service. */
  shared(name: string): AnyIntegrationApp | undefined {
    return this.#apps.all().find((app) => app.name === name)
  }

  #appOf({ id, revision, created_at, document }: OwnApp): AnyIntegrationApp {
    const key = `${id} ${revision} ${created_at}`
    let app = this.#cache.get(key)
    if (!app) {
      app = appOf(document)
      if (this.#cache.size >= maxCached) this.#cache.clear()
      this.#cache.set(key, app)
    }
    return { ...app, own: { id, revision } }
  }
}
