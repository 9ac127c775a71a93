// Addresses with a quoted local part (RFC 5321 section 4.1.2), which smtp-server does not read. An atom stands in for the
// quoted text while smtp-server reads the command.
import type { SMTPServer } from "smtp-server"

interface Connection {
  readonly id: string
  _parseAddressCommand(name: string, command: Buffer | string): { address: string } | false
}

const quoted = /^([^<]*<(?:@[^<>:]*:)?)"((?:[^"\\\p{Cc}]|\\[^\p{Cc}])*)"(@[^<>]*>.*)$/su
const dotAtom = /^[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*$/
const standIn = "quoted"
const maxLocalPart = 64

export function readQuotedLocalParts(server: SMTPServer, sessionId: string): void {
  const connections = server.connections as unknown as ReadonlySet<Connection>
  const connection = [...connections].find(({ id }) => id === sessionId)
  if (!connection) return
  const parse = connection._parseAddressCommand.bind(connection)
  connection._parseAddressCommand = (name, command) => {
    const [, before = "", local, after = ""] = quoted.exec(command.toString()) ?? []
    if (local === undefined || local.length > maxLocalPart) return parse(name, command)
    const parsed = parse(name, `${before}${standIn}${after}`)
    if (!parsed) return parsed
    // Quotes without need change nothing: "ada"@example.com is ada@example.com.
    const plain = local.replace(/\\(.)/gsu, "$1")
    const spelled = dotAtom.test(plain) ? plain : `"${plain.replace(/["\\]/g, "\\$&")}"`
    return { ...parsed, address: `${spelled}${parsed.address.slice(standIn.length)}` }
  }
}
