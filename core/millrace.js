#!/usr/bin/env node
// The `millrace` command.
import "./node-version.js"
import "./compile-cache.js"

await import("./cli.ts")
