// `millrace pipelines …`: commands for pipelines in a repository. Each command loads its code when called, to keep it out of the
// service.
import type { PluginCommand } from "#core"
import { serviceOptions } from "#core/engine"

const group = {
  name: "pipelines",
  summary: "Pipelines as code: check, test, try, plan, apply, watch. What became of events, replays, secrets: `event-pipelines`.",
}

const files = { name: "[files...]", summary: "files or folders; the configured folders where none is named" }
const wholeFolders = { name: "[files...]", summary: "files or folders; the configured folders, as a whole, where none is named" }
const file = { name: "<file>", summary: "the pipeline" }

export const pipelineCommands: readonly PluginCommand[] = [
  {
    name: "validate",
    group,
    summary: "Compile pipeline files and report everything that is wrong with them; needs no service.",
    arguments: [files],
    options: [
      { flags: "--format <format>", summary: "how to report", choices: ["text", "json", "sarif", "github"], default: "text" },
      { flags: "--output <file>", summary: "write the report there instead of printing it" },
    ],
    run: async (options, context) => (await import("./validate.ts")).validate(options, context),
  },
  {
    name: "test",
    group,
    summary: "Run the *.test.yaml files beside pipelines through the real engine; needs no service and no network.",
    arguments: [{ name: "[files...]", summary: "test files, pipelines or folders; the configured folders where none is named" }],
    options: [
      { flags: "--watch", summary: "run again when a file changes" },
      { flags: "--junit <file>", summary: "write the results as JUnit XML as well" },
    ],
    run: async (options, context) => (await import("./test/command.ts")).test(options, context),
  },
  {
    name: "run",
    group,
    summary: "Put one event through a pipeline file and show each stage; needs no service and sends nothing.",
    arguments: [file],
    options: [
      {
        flags: "--event <file>",
        summary: "an event as in test files, a captured { method, url, headers, body }, or a body; - reads standard input",
      },
      { flags: "--body <file>", summary: "a body, sent unchanged; - reads standard input" },
      { flags: "--from-execution <id>", summary: "take the event of a journalled execution from a running service" },
      { flags: "--clock <time>", summary: "RFC 3339 time at which the event arrives" },
      { flags: "--json", summary: "print everything as JSON" },
      ...serviceOptions,
    ],
    run: async (options, context) => (await import("./run/command.ts")).run(options, context),
  },
  {
    name: "graph",
    group,
    summary: "Show a pipeline's steps, and which run before and after the reply.",
    arguments: [file],
    options: [{ flags: "--format <format>", summary: "how to show it", choices: ["text", "mermaid"], default: "text" }],
    run: async (options, context) => (await import("./graph/command.ts")).graph(options, context),
  },
  {
    name: "plan",
    group,
    summary:
      "Show which pipelines applying the files to a running service would create, change and disable. Exit code 1 when an apply would be refused.",
    arguments: [wholeFolders],
    options: [
      { flags: "--force", summary: "allow a plan without any file, which disables every pipeline" },
      {
        flags: "--replay <count>",
        summary: "run the last journalled events of each changed pipeline through the old and the new document",
      },
      { flags: "--json", summary: "print the plan as JSON" },
      ...serviceOptions,
    ],
    run: async (options, context) => (await import("./plan/command.ts")).plan(options, context),
  },
  {
    name: "apply",
    group,
    summary: "Apply pipeline files to a running service, all or none.",
    arguments: [wholeFolders],
    options: [
      {
        flags: "--force",
        summary: "overwrite changes made on the server, activate steps without their integration; without any file, disable every pipeline",
      },
      { flags: "--json", summary: "print the result as JSON" },
      ...serviceOptions,
    ],
    run: async (options, context) => (await import("./plan/command.ts")).apply(options, context),
  },
  {
    name: "tail",
    group,
    summary: "Show a running service's events as they arrive; Ctrl-C stops it.",
    options: [
      { flags: "--pipeline <slug...>", summary: "only events of these pipelines" },
      { flags: "--status <status...>", summary: "only events with these statuses", choices: ["accepted", "rejected", "failed"] },
      { flags: "--details", summary: "the whole journal entry below each line" },
      { flags: "--json", summary: "one JSON object a line" },
      ...serviceOptions,
    ],
    run: async (options, context) => (await import("./tail.ts")).tail(options, context),
  },
  {
    name: "listen",
    group,
    summary: "Forward each accepted event to a local server during development; Ctrl-C stops it.",
    options: [
      { flags: "--forward <url>", summary: "target URL, such as http://127.0.0.1:3000/events", mandatory: true },
      { flags: "--pipeline <slug...>", summary: "only events of these pipelines" },
      ...serviceOptions,
    ],
    run: async (options, context) => (await import("./listen.ts")).listen(options, context),
  },
]
