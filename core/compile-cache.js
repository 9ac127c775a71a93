// Keeps what Node compiles beside its other temporary files, so that the next start need not: a third less of it. Plain
// JavaScript, so that any Node can read it; without a folder that can be written, nothing is kept.
import module from "node:module"

const { directory } = module.enableCompileCache?.() ?? {}
// Threads have it by this variable alone; without it each of them compiles what all of them share.
if (directory) process.env.NODE_COMPILE_CACHE ??= directory
