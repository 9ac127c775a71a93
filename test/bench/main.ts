// `npm run bench`: what a durable event costs, beside servers that keep nothing, in the same run. Prints one table;
// `--json FILE` writes it too, `--only PREFIX` picks rows, `--user-agents FILE` tells instead how often user agents are classified right (`--misses` lists the others), `--seconds N` and `--runs N` set how long it takes.
import { writeFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { inboundRows } from "./inbound.ts"
import { liveRows } from "./live.ts"
import { printTable, type Row } from "./table.ts"
import { reportUserAgents } from "./user-agents.ts"
import { validateRow } from "./validate.ts"

const { values } = parseArgs({
  options: {
    "user-agents": { type: "string" },
    misses: { type: "boolean", default: false },
    only: { type: "string", default: "" },
    json: { type: "string" },
    seconds: { type: "string", default: "5" },
    runs: { type: "string", default: "3" },
  },
})

if (values["user-agents"] !== undefined) {
  console.log(reportUserAgents(values["user-agents"], { misses: values.misses }))
  process.exit()
}

const rows: Row[] = []
for await (const row of inboundRows({ only: values.only, seconds: Number(values.seconds), runs: Number(values.runs) })) {
  rows.push(row)
  printTable([row])
}
for await (const row of liveRows({ only: values.only, runs: Number(values.runs) })) {
  rows.push(row)
  printTable([row])
}
if ("validate/1000x10".startsWith(values.only)) {
  const row = await validateRow(Number(values.runs))
  rows.push(row)
  printTable([row])
}
console.log("\nAll rows")
printTable(rows)
if (values.json) writeFileSync(values.json, JSON.stringify(rows, null, 2))
