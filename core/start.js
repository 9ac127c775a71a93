// `node core/start.js`: the service.
import "./node-version.js"

await import("./main.ts")
