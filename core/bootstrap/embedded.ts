// Whether the store is the embedded file, and where that lies.
import { join } from "node:path"
import type { CoreConfig } from "../kernel/config-schema.ts"

export function isEmbedded({ storage }: CoreConfig): boolean {
  return storage.url === null || storage.url === ""
}

export function dataFile({ data_dir }: CoreConfig): string {
  return join(data_dir, "millrace.db")
}
