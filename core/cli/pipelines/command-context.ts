// What every `millrace pipelines` command is given.
import type { CoreConfig } from "../../kernel/config.ts"
import type { Terminal } from "../terminal.ts"

export interface CommandContext {
  /** As configured; throws BootError with every problem. */
  readonly config: () => CoreConfig
  /** What relative folders in the configuration are relative to. */
  readonly root: string
  readonly terminal: Terminal
  /** Sets the exit code of the command. */
  readonly end: (exitCode: number) => void
}
