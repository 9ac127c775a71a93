// `npm start`: the service, which starts again after a fault.
import "./node-version.js"
import "./compile-cache.js"

await import("./supervisor.ts")
