// `millrace evals …`, beside the commands made of operations. What they run is loaded when one is called.
import type { PluginCommand } from "#core"
import { serviceOptions } from "#core/engine"

export const evalCommands: readonly PluginCommand[] = [
  {
    name: "run",
    group: { name: "evals", summary: "Eval suites: agents asked known cases, and judged." },
    summary: "Run an eval suite to its end. Exit code 0 when it passed, 1 when it failed, 2 when it has no verdict.",
    arguments: [{ name: "<suite>", summary: "slug or UUID of the suite" }],
    options: [
      { flags: "--repeats <number>", summary: "how often each case is asked; the service's setting unless given" },
      { flags: "--junit <file>", summary: "write the verdicts as JUnit XML as well" },
      { flags: "--json", summary: "print the run as JSON" },
      ...serviceOptions,
    ],
    run: async (options, context) => (await import("./run.ts")).runSuite(options, context),
  },
]
