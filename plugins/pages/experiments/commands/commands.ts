// `millrace experiments …`, beside the commands made of operations. What they run is loaded when one is called.
import type { PluginCommand } from "#core"

export const experimentCommands: readonly PluginCommand[] = [
  {
    name: "fit",
    group: { name: "experiments", summary: "Experiments on page variants." },
    summary: "Rank keys by comparisons of two each; needs no service.",
    options: [
      {
        flags: "--file <file>",
        summary: 'a JSON array of { "a", "b", "winner": "a" | "b" | "tie", "count"? }, or CSV with these columns; - reads standard input',
        mandatory: true,
      },
      {
        flags: "--model <model>",
        summary: "bradley-terry counts a tie as half a win of each; davidson has a parameter for ties",
        choices: ["bradley-terry", "davidson"],
        default: "bradley-terry",
      },
      { flags: "--json", summary: "print the result as JSON" },
    ],
    run: async (options) => (await import("./fit.ts")).fitFile(options),
  },
]
