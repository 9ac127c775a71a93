// The `millrace` command for a reader's shell, run by this process in the reader's folder and with the reader's variables: a
// process of its own would load all of Millrace for each line of a page. That the command works as one is for test/package.
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
  /** What a shell begins its line with in place of `millrace`. */
  readonly command: string
  readonly #server: Server

  /** `folder` takes a script and a socket. */
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
