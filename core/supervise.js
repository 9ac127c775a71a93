// `npm start`: runs the service and restarts it after a fault.
import "./node-version.js"
import "./compile-cache.js"

await import("./supervisor.ts")
