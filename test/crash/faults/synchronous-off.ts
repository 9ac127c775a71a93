// A data file written without flushing, as with `synchronous=OFF`. It survives a kill, since the page cache survives, but not a
// power cut. Loaded with --import, by tests only, also in the writer's thread.
import { DatabaseSync } from "node:sqlite"

const real = DatabaseSync.prototype.exec

DatabaseSync.prototype.exec = function unflushed(this: DatabaseSync, sql: string) {
  return real.call(this, sql.replace(/synchronous\s*=\s*FULL/i, "synchronous=OFF"))
}
