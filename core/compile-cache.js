// Caches Node's compiled code among its temporary files, so the next start takes a third less time. Plain JavaScript, so
// any Node can read it. Cached code is executed, so the folder must be writable only by this user. Otherwise there is no cache.
import { lstatSync, mkdirSync } from "node:fs"
import module from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"

const writableByOthers = 0o022

/** Undefined if another user owns the folder or can write to it. */
function ownFolder() {
  const user = process.getuid?.()
  const path = join(tmpdir(), user === undefined ? "millrace-compiled" : `millrace-compiled-${user}`)
  try {
    mkdirSync(path, { mode: 0o700, recursive: true })
    const found = lstatSync(path)
    const isOwn = user === undefined || (found.uid === user && (found.mode & writableByOthers) === 0)
    return found.isDirectory() && isOwn ? path : undefined
  } catch {
    return undefined
  }
}

const folder = process.env.NODE_COMPILE_CACHE ?? ownFolder()
const { directory } = (folder && module.enableCompileCache?.(folder)) || {}
// Threads receive the folder only by this variable. Without it each thread compiles the shared code again.
if (directory) process.env.NODE_COMPILE_CACHE ??= directory
