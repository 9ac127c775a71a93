// Detects the embedded store and locates its files.
import { join } from "node:path"
import type { CoreConfig } from "../kernel/config-schema.ts"

export function isEmbedded({ storage }: CoreConfig): boolean {
  return storage.url === null || storage.url === ""
}

/** Marker files of an earlier store. If they exist without a store, the service does not create an empty one. */
export function tracesOfStore({ data_dir }: CoreConfig): string[] {
  return [join(data_dir, "master.key"), join(data_dir, "bootstrap.json")]
}

export function dataFile({ data_dir }: CoreConfig): string {
  return join(data_dir, "millrace.db")
}
