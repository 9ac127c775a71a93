// Keeps what Node compiles beside its other temporary files, so that the next start need not: a third less of it. Plain
// JavaScript, so that any Node can read it; without a folder that this user alone can write, nothing is kept, since
// what is found there is run.
import { lstatSync, mkdirSync } from "node:fs"
import module from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"

const writableByOthers = 0o022

/** Undefined where another user made it, or may write to it. */
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
// Threads have it by this variable alone; without it each of them compiles what all of them share.
if (directory) process.env.NODE_COMPILE_CACHE ??= directory
