// Whether the store is the embedded file, and where that lies.
import { join } from "node:path"
import type { CoreConfig } from "../kernel/config-schema.ts"

export function isEmbedded({ storage }: CoreConfig): boolean {
  return storage.url === null || storage.url === ""
}

/** Files that tell that the folder had a store before: a new one is not made beside them. */
export function tracesOfStore({ data_dir }: CoreConfig): string[] {
  return [join(data_dir, "master.key"), join(data_dir, "bootstrap.json")]
}

export function dataFile({ data_dir }: CoreConfig): string {
  return join(data_dir, "millrace.db")
}
