// Counts the service's journal entries and rows in its store from outside.
import { DatabaseSync } from "node:sqlite"
import { MongoClient } from "mongodb"
import { EntryCollection } from "../../../core/pipeline/journal/collections.ts"
import { RowsCollection } from "../../../plugins/data/datasets/collections.ts"

export interface Books {
  readonly entries: number
  readonly rows: number
}

/** Opens the file as a second reader while the service runs. */
export async function sqliteBooks(file: string): Promise<Books> {
  const database = new DatabaseSync(file, { readOnly: true })
  try {
    const count = (table: string) => Number(database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.["n"])
    return { entries: count(EntryCollection.name), rows: count(RowsCollection.name) }
  } finally {
    database.close()
  }
}

export async function mongoBooks(url: string): Promise<Books> {
  const client = new MongoClient(url)
  try {
    const count = (name: string) => client.db().collection(name).countDocuments()
    return { entries: await count(EntryCollection.name), rows: await count(RowsCollection.name) }
  } finally {
    await client.close()
  }
}
