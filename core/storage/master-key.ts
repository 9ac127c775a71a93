// Records in the store the ids of the master keys of its secrets, each with a text sealed under it. A node that cannot open all
// of them fails at start, before it serves or seals anything. With a wrong key it would fail every event. With a newly generated
// key it would seal secrets that other nodes cannot open.
import { type Document, defineCollection, type SealedPlace } from "../contract/collection.ts"
import type { Collection } from "../contract/store.ts"
import { AppError } from "../kernel/errors.ts"
import type { Vault } from "../kernel/vault.ts"
import type { StartedStore } from "./store.ts"

interface MasterKeysDocument extends Document {
  /** Key: id of the master key. Value: a text sealed under it. */
  keys: Record<string, string>
}

/** A collection with the single document `keys`. */
export const MasterKeysCollection = defineCollection<MasterKeysDocument>()({
  name: "master_keys",
  scope: "global",
  times: [],
  indexes: [],
})

const documentId = "keys"
const sealedText = "millrace"

export interface OwnKey {
  readonly vault: Vault
  /** Source of the key. undefined for a newly generated key. */
  readonly source: string | undefined
  /** File for a generated key. */
  readonly file: string
}

/**
 * Throws `failed_precondition` unless all secrets in the store can be opened. Adds the node's own key to the store's list if it
 * is missing.
 */
export async function checkMasterKey(store: StartedStore, own: OwnKey): Promise<void> {
  const { vault } = own
  const kept = store.open(MasterKeysCollection)
  let stored = await kept.get(documentId)
  if (!stored) {
    // A store from before this check.
    for await (const { place } of sealedIn(store)) if (!vault.knows(place.sealed.key_id)) throw wrongKey(own, place.sealed.key_id)
    stored = await first(store, kept, vault)
  }
  for (const [key_id, text] of Object.entries(stored.keys)) {
    if (!vault.knows(key_id)) throw wrongKey(own, key_id)
    vault.open({ key_id, text }, contextOf(key_id))
  }
  if (!Object.hasOwn(stored.keys, vault.keyId)) await note(store, vault)
}

export interface ResealReport {
  /** Number of secrets moved to the current key. */
  readonly resealed: number
  /** Number of all secrets in the store. */
  readonly secrets: number
}

/**
 * Seals every secret under the current master key, and removes the other keys from the store's list. It can be interrupted and
 * repeated. Every other node must already have the current key. Throws `data_loss` if a secret cannot be opened. The remaining
 * secrets then stay unchanged.
 */
export async function resealAll(store: StartedStore, vault: Vault): Promise<ResealReport> {
  let resealed = 0
  for (;;) {
    let secrets = 0
    let others = 0
    for await (const { collection, organization, document, place } of sealedIn(store)) {
      secrets++
      const { path, sealed, context } = place
      if (sealed.key_id === vault.keyId) continue
      others++
      const again = vault.seal(vault.open(sealed, context), context)
      const target = organization === undefined ? { collection } : { collection, organization }
      await store.commit({
        id: `reseal:${vault.keyId}:${collection.name}:${document.id}:${path}:${again.text.slice(0, 16)}`,
        // Skips a secret that was replaced meanwhile. The next round finds it.
        writes: [
          {
            ...target,
            kind: "update",
            id: document.id,
            update: { $set: { [path]: { ...again } } },
            where: { [`${path}.text`]: sealed.text },
            optional: true,
          },
        ],
      })
    }
    resealed += others
    if (others > 0) continue
    const keys = { [vault.keyId]: vault.seal(sealedText, contextOf(vault.keyId)).text }
    const write = { kind: "update", collection: MasterKeysCollection, id: documentId, update: { $set: { keys } }, upsert: true } as const
    await store.commit({ id: `master_keys:${vault.keyId}:${keys[vault.keyId]?.slice(0, 16)}`, writes: [write] })
    return { resealed, secrets }
  }
}

interface Found {
  readonly collection: StartedStore["collections"][number]
  readonly organization: string | undefined
  readonly document: Document
  readonly place: SealedPlace
}

async function* sealedIn(store: StartedStore): AsyncGenerator<Found, void, undefined> {
  for (const collection of store.collections) {
    if (!collection.sealed) continue
    const organizations = collection.scope === "global" ? [undefined] : await store.organizationsIn(collection)
    for (const organization of organizations) {
      const opened = store.open(collection as never, organization as never) as Collection<Document>
      for await (const document of opened.stream({}))
        for (const place of collection.sealed(document)) yield { collection, organization, document, place }
    }
  }
}

/** If several nodes start on a new store at the same time, the first node writes the list and the others read it. */
async function first(store: StartedStore, kept: Collection<MasterKeysDocument>, vault: Vault): Promise<MasterKeysDocument> {
  const keys = { [vault.keyId]: vault.seal(sealedText, contextOf(vault.keyId)).text }
  const doc: MasterKeysDocument = { id: documentId, keys }
  const write = { kind: "insert", collection: MasterKeysCollection, doc, ifPresent: "keep" } as const
  await store.commit({ id: `master_keys:first:${keys[vault.keyId]?.slice(0, 16)}`, writes: [write] })
  return (await kept.get(documentId)) ?? doc
}

async function note(store: StartedStore, vault: Vault): Promise<void> {
  const { text } = vault.seal(sealedText, contextOf(vault.keyId))
  const update = { $set: { [`keys.${vault.keyId}`]: text } }
  const write = { kind: "update", collection: MasterKeysCollection, id: documentId, update } as const
  await store.commit({ id: `master_keys:${vault.keyId}:${text.slice(0, 16)}`, writes: [write] })
}

function contextOf(keyId: string): string {
  return `master key ${keyId}`
}

function wrongKey({ vault, source, file }: OwnKey, needed: string): AppError {
  const message =
    source === undefined
      ? `The store holds secrets that are encrypted with the master key ${needed}, and this node has none: MILLRACE_MASTER_KEY is not set, and ${file} does not exist. Set MILLRACE_MASTER_KEY to the key of the other nodes, or restore the file; it is not in backups. No key was generated.`
      : `The store holds secrets that are encrypted with the master key ${needed}, and ${source} holds another, ${vault.keyId}. Give this node that key; to replace it, set the new one and name the old one in MILLRACE_RETIRED_MASTER_KEYS, then run \`millrace rotate-master-key\`.`
  return new AppError("failed_precondition", message, { reason: "wrong_master_key", needed, ...(source ? { given: vault.keyId } : {}) })
}
