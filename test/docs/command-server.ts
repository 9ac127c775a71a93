// Runs the `millrace` command for a reader's shell inside this process, with the reader's folder and variables.
// A separate process would load all of Millrace for each line of a page. test/package tests the command as a process.
import { writeFileSync } from "node:fs"
import { createServer, type Server } from "node:net"
import { text } from "node:stream/consumers"
import { runAlone } from "../cli/command-line.ts"

interface CommandRequest {
  readonly folder: string
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
}

/** Plain JavaScript, since it is started for each command. */
const asking = `import { connect } from "node:net"
import { text } from "node:stream/consumers"
const [, , path, ...args] = process.argv
const socket = connect({ path, allowHalfOpen: true })
socket.end(JSON.stringify({ folder: process.cwd(), args, env: process.env }))
const { code, said } = JSON.parse(await text(socket))
for (const { on, text: one } of said) process[on].write(one)
process.exitCode = code
`

export class CommandServer {
  /** Shell command that replaces `millrace`. */
  readonly command: string
  readonly #server: Server

  /** `folder` receives a script and a socket. */
  constructor(folder: string) {
    const [script, path] = [`${folder}/millrace.mjs`, `${folder}/commands`]
    writeFileSync(script, asking)
    this.command = `node ${script} ${path}`
    this.#server = createServer({ allowHalfOpen: true }, async (socket) => {
      const { folder: cwd, args, env } = JSON.parse(await text(socket)) as CommandRequest
      socket.end(JSON.stringify(await runAlone(cwd, args, env)))
    }).listen(path)
  }

  close(): void {
    this.#server.close()
  }
}
