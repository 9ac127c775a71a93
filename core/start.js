// `node core/start.js`: the service.
import "./node-version.js"
import "./compile-cache.js"

// Under `node --watch`, worker threads would report what they import among their own messages; `npm run dev` names the
// folders to watch instead.
delete process.env["WATCH_REPORT_DEPENDENCIES"]

await import("./main.ts")
