// The key of the consent ledger: random, created once and stored sealed. It survives a change of the master key. People are
// looked up by a digest under this key. The digest is the only trace of an erased person.
import { createHmac, randomBytes } from "node:crypto"
import { type Deps, type Document, defineCollection, Ids, type Sealed, Store, Vault } from "#core"
import { personKey } from "../conversations/index.ts"
import type { Person } from "./person.ts"

interface ConsentKey extends Document {
  key: Sealed
}

const id = "key"
const context = "key of the consent ledger"

export const ConsentKeyCollection = defineCollection<ConsentKey>()({
  name: "consent_keys",
  outlivesRestore: true,
  scope: "global",
  times: [],
  indexes: [],
  sealed: ({ key }) => [{ path: "key", sealed: key, context }],
})

export class ConsentKeys {
  static readonly inject = { store: Store, vault: Vault, ids: Ids }
  readonly #deps: Deps<typeof ConsentKeys.inject>
  #key: Promise<Buffer> | undefined

  constructor(deps: Deps<typeof ConsentKeys.inject>) {
    this.#deps = deps
  }

  async digestOf(organization: string, { kind, value }: Person): Promise<string> {
    this.#key ??= this.#read().catch((error: unknown) => {
      this.#key = undefined
      throw error
    })
    return createHmac("sha256", await this.#key)
      .update(`${organization}\n${kind}\n${kind === "phone" ? personKey(value) : value}`)
      .digest("hex")
  }

  async #read(): Promise<Buffer> {
    const { store, vault, ids } = this.#deps
    const keys = store.open(ConsentKeyCollection)
    let stored = await keys.get(id)
    if (!stored) {
      // If several nodes create a key, the first stored key wins.
      const doc = { id, key: vault.seal(randomBytes(32).toString("base64"), context) }
      await store.commit({ id: ids.uuid(), writes: [{ kind: "insert", collection: ConsentKeyCollection, doc, ifPresent: "keep" }] })
      stored = (await keys.get(id)) ?? doc
    }
    return Buffer.from(vault.open(stored.key, context), "base64")
  }
}
