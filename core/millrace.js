#!/usr/bin/env node
// The `millrace` command.
import "./node-version.js"

await import("./cli.ts")
