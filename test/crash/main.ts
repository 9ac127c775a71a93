// `npm run test:crash -- --kills N`: runs hundreds of kills, 25 per data folder. Prints one line per folder and the sums.
// Exits with 1 if the books of any kill are wrong. `--fault NAME` loads a module of faults/ and expects wrong books.
// `--write-docs` writes the output into docs/reliability.md.
import { randomInt } from "node:crypto"
import { parseArgs } from "node:util"
import { describeMachine } from "../bench/machine.ts"
import { writePrinted } from "./page.ts"
import { type KillReport, killRound } from "./rounds.ts"

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "20" },
    fault: { type: "string" },
    seed: { type: "string" },
    "write-docs": { type: "boolean", default: false },
  },
})
const kills = Number(values.kills)
if (!Number.isInteger(kills) || kills < 1) {
  console.error(`--kills takes a whole number from 1 up, and was given "${values.kills}".`)
  process.exit(2)
}

const killsPerFolder = 25
/** Seed of the first folder. Each following folder uses the next seed. */
const seed = Number(values.seed ?? randomInt(2 ** 31))
const printed: string[] = []
const print = (line: string) => {
  printed.push(line)
  console.log(line)
}
const all: KillReport[] = []
const problems: string[] = []
const began = performance.now()
while (all.length < kills && problems.length === 0) {
  const round = await killRound({
    kills: Math.min(killsPerFolder, kills - all.length),
    seed: seed + Math.floor(all.length / killsPerFolder),
    faults: values.fault === undefined ? [] : [values.fault],
  })
  all.push(...round.kills)
  problems.push(...round.problems)
  print(lineOf(round.kills))
}
for (const problem of problems) print(`  ${problem}`)
if (problems.length > 0) print(`  seed ${seed}: --seed ${seed} kills at the same instants`)
const total = (of: (report: KillReport) => number) => all.reduce((sum, report) => sum + of(report), 0)
print(
  `${all.length} kills in ${Math.round((performance.now() - began) / 1_000)} s: ${total(({ acknowledged }) => acknowledged)} events acknowledged, ` +
    `${total(({ unanswered }) => unanswered)} unanswered at the kills (${Math.min(...all.map(({ unanswered }) => unanswered))} at least), ${problems.length} problems`,
)
if (values["write-docs"] && values.fault === undefined) {
  const { processor, cores, memory_gb, system, node, file_system } = describeMachine()
  writePrinted("process", {
    command: `--kills ${kills}`,
    date: new Date().toISOString().slice(0, 10),
    machine: `${processor}, ${cores} cores, ${memory_gb} GB, ${system}, Node ${node}, ${file_system}`,
    lines: printed,
  })
}
const isFound = problems.length > 0
process.exitCode = isFound === (values.fault !== undefined) ? 0 : 1

function lineOf(reports: readonly KillReport[]): string {
  const last = reports.at(-1)?.findings
  const restarts = reports.map(({ restart_ms }) => restart_ms).sort((a, b) => a - b)
  return (
    `${reports.length} kills: ${last?.entries} entries, of them ${last?.kept} of unanswered events; ${last?.repeatedCalls} calls repeated; ` +
    `start after a kill ${restarts[restarts.length >> 1]} ms in the median, ${restarts.at(-1)} ms at most`
  )
}
