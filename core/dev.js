// `npm run dev`: the service, with pipeline files applied again as they change.
process.env["MILLRACE_PIPELINES_WATCH"] ??= "true"

await import("./start.js")
