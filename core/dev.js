// `npm run dev`: runs the service and applies pipeline files again when they change.
process.env["MILLRACE_PIPELINES_WATCH"] ??= "true"

await import("./start.js")
