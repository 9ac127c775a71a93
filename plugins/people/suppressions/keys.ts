// The key of the suppression list: random, created once and stored sealed. A changed master key therefore does not empty the list
// or invalidate links in old mail.
import { createHmac, hkdfSync, randomBytes } from "node:crypto"
import { Clock, type Deps, Ids, Store, timestamp, Vault } from "#core"
import { keySealContext, MailKeyCollection } from "./collections.ts"

const id = "key"

export class MailKeys {
  static readonly inject = { store: Store, vault: Vault, clock: Clock, ids: Ids }
  readonly #services: Deps<typeof MailKeys.inject>
  #key: Promise<Buffer> | undefined

  constructor(services: Deps<typeof MailKeys.inject>) {
    this.#services = services
  }

  /** Returns a key of 32 bytes for a purpose. */
  async keyFor(purpose: string): Promise<Buffer> {
    this.#key ??= this.#read().catch((error: unknown) => {
      this.#key = undefined
      throw error
    })
    return Buffer.from(hkdfSync("sha256", await this.#key, "", `millrace:mail:${purpose}`, 32))
  }

  /** Returns the digest of an organization's normalized address. */
  async digestOf(organization: string, address: string): Promise<string> {
    return createHmac("sha256", await this.keyFor("digest"))
      .update(`${organization}\n${address}`)
      .digest("hex")
  }

  async #read(): Promise<Buffer> {
    const { store, vault } = this.#services
    const stored = (await store.open(MailKeyCollection).get(id)) ?? (await this.#make())
    return Buffer.from(vault.open(stored.key, keySealContext), "base64")
  }

  /** Creates the key. If several nodes create a key, the first stored key wins. */
  async #make() {
    const { store, vault, clock, ids } = this.#services
    const doc = { id, key: vault.seal(randomBytes(32).toString("base64"), keySealContext), created_at: timestamp(clock.now()) }
    await store.commit({ id: ids.uuid(), writes: [{ kind: "insert", collection: MailKeyCollection, doc, ifPresent: "keep" }] })
    return (await store.open(MailKeyCollection).get(id)) ?? doc
  }
}
