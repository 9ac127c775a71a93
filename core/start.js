// `node core/start.js`: runs the service.
import "./node-version.js"
import "./compile-cache.js"

// Under `node --watch`, worker threads would report their imports among their own messages. `npm run dev` therefore names the
// folders to watch.
delete process.env["WATCH_REPORT_DEPENDENCIES"]

await import("./main.ts")
