// A data file that is written without flushing, as with `synchronous=OFF`: a kill leaves it whole, since the page cache
// lives on; a power cut would not. Loaded with --import, by tests only; it is loaded in the writer's thread too.
import { DatabaseSync } from "node:sqlite"

const real = DatabaseSync.prototype.exec

DatabaseSync.prototype.exec = function unflushed(this: DatabaseSync, sql: string) {
  return real.call(this, sql.replace(/synchronous\s*=\s*FULL/i, "synchronous=OFF"))
}
