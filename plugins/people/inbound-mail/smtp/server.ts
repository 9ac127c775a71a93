// The SMTP server (RFC 5321): sessions, limits and answers. Accepted mail is on disk before the 250.
import { readFileSync } from "node:fs"
import type { AddressInfo } from "node:net"
import { createSecureContext } from "node:tls"
import { Counter } from "prom-client"
import type { SMTPServer, SMTPServerSession } from "smtp-server"
import type { Clock, Logger } from "#core"
import { type Metrics, runOutsideRequests } from "#core/engine"
import type { Settings } from "../settings.ts"
import type { Acceptance } from "./acceptance.ts"
import { refusalFor, type SmtpLimits, SmtpRefusal } from "./limits.ts"

interface ServerServices {
  readonly settings: Settings
  readonly acceptance: Acceptance
  readonly limits: SmtpLimits
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
}

/** Time a stop waits for incoming messages. */
const closeMs = 5_000
/** Interval for reading renewed certificate files. */
const certificateMs = 3_600_000

export class MailServer {
  readonly #services: ServerServices
  readonly #sessions = new Map<string, () => void>()
  readonly #counter: Counter<"result">
  #server: SMTPServer | undefined
  #cancelRenewal: () => void = () => undefined

  constructor(services: ServerServices) {
    this.#services = services
    this.#counter = new Counter({
      name: "millrace_inbound_mail_total",
      help: "Mail from outside by result: accepted, or the enhanced status code (RFC 3463) of the refusal.",
      labelNames: ["result"],
      registers: [services.metrics],
    })
  }

  /** The listening port, or undefined if the server is off. */
  get port(): number | undefined {
    return (this.#server?.server.address() as AddressInfo | null | undefined)?.port
  }

  async start(): Promise<void> {
    const { settings, log } = this.#services
    if (settings.port === null) return
    const server = await this.#create()
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject)
      server.listen(settings.port ?? 0, settings.host, () => {
        server.off("error", reject)
        resolve()
      })
    })
    server.on("error", (error) => log.debug({ err: error }, "a connection of the mail server failed"))
    this.#server = server
    this.#renewLater()
    log.info({ host: settings.host, port: this.port }, "mail is received")
  }

  async stop(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    this.#cancelRenewal()
    if (!server) return
    const idle = [...server.connections].filter(({ session }) => !session.envelope?.mailFrom)
    for (const connection of idle) connection.send(421, "4.3.2 The service is being stopped; try again later")
    await new Promise<void>((resolve) => server.close(resolve))
  }

  async #create(): Promise<SMTPServer> {
    // Imported only if a port is set. Most services and all commands have no port.
    const { SMTPServer } = await import("smtp-server")
    const { settings, acceptance, limits } = this.#services
    const answer = (work: Promise<unknown>, done: (error?: Error | null) => void) => {
      work.then(
        () => done(),
        (error: unknown) => done(this.#refusal(error)),
      )
    }
    const taken = async (stream: AsyncIterable<Buffer>, session: SMTPServerSession) => {
      await limits.read(stream, async (raw) => {
        await limits.bytes(session.remoteAddress, raw.length)
        await acceptance.take(raw, envelopeOf(session))
      })
      this.#counter.inc({ result: "accepted" })
    }
    return new SMTPServer({
      name: settings.hostname,
      banner: "ready",
      disabledCommands: settings.tls ? ["AUTH"] : ["AUTH", "STARTTLS"],
      minVersion: "TLSv1.2",
      ...this.#certificate(),
      logger: false,
      disableReverseLookup: true,
      useProxy: [...settings.proxies],
      size: settings.max_message_bytes,
      maxClients: settings.max_connections,
      maxRecipients: settings.max_recipients,
      maxCommandLength: 2_048,
      socketTimeout: settings.idle_timeout_ms,
      closeTimeout: closeMs,
      onConnect: (session, done) => {
        if (this.#server) readQuotedLocalParts(this.#server, session.id)
        answer(this.#connected(session), done)
      },
      onClose: ({ id }) => {
        this.#sessions.get(id)?.()
        this.#sessions.delete(id)
      },
      onMailFrom: (_address, { remoteAddress }, done) => answer(limits.message(remoteAddress), done),
      onRcptTo: ({ address }, _session, done) => answer(acceptance.route(address), done),
      onData: (stream, session, done) =>
        runOutsideRequests(() => answer(taken(stream, session), done), { operation: "mail", organization: "" }),
    })
  }

  #certificate() {
    const { tls } = this.#services.settings
    return tls ? { cert: readFileSync(tls.cert_file), key: readFileSync(tls.key_file) } : {}
  }

  #renewLater(): void {
    const { settings, clock, log } = this.#services
    if (!settings.tls) return
    this.#cancelRenewal = clock.after(certificateMs, () => {
      try {
        const certificate = this.#certificate()
        // Throws if key and certificate do not match, for example while their files are being replaced.
        createSecureContext(certificate)
        this.#server?.updateSecureContext(certificate)
      } catch (error) {
        log.warn({ err: error }, "the certificate of the mail server cannot be read; the one that it has stays")
      }
      this.#renewLater()
    })
  }

  /** Acquires a permit for the client, and closes the connection after the session time limit even if active. */
  async #connected({ id, remoteAddress }: SMTPServerSession): Promise<void> {
    const { limits, clock, settings } = this.#services
    const release = await limits.connect(remoteAddress)
    const cancel = clock.after(settings.session_timeout_ms, () => this.#cut(id))
    this.#sessions.set(id, () => {
      cancel()
      release()
    })
  }

  #cut(id: string): void {
    for (const connection of this.#server?.connections ?? []) {
      if (connection.id !== id) continue
      connection.send(421, "4.4.2 The connection has lasted too long; open another")
      connection.close()
    }
  }

  #refusal(error: unknown): SmtpRefusal {
    if (!(error instanceof SmtpRefusal)) this.#services.log.warn({ err: error }, "mail could not be taken; its client is told to try again")
    const refusal = refusalFor(error)
    this.#counter.inc({ result: refusal.enhanced })
    return refusal
  }
}

function envelopeOf({ envelope, remoteAddress, hostNameAppearsAs, secure }: SMTPServerSession) {
  return {
    from: envelope.mailFrom ? envelope.mailFrom.address : "",
    recipients: envelope.rcptTo.map(({ address }) => address),
    remote_address: remoteAddress,
    helo: hostNameAppearsAs.slice(0, 255),
    tls: secure,
  }
}

interface Connection {
  readonly id: string
  _parseAddressCommand(name: string, command: Buffer | string): { address: string } | false
}

const quoted = /^([^<]*<(?:@[^<>:]*:)?)"((?:[^"\\\p{Cc}]|\\[^\p{Cc}])*)"(@[^<>]*>.*)$/su
const dotAtom = /^[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*$/
const standIn = "quoted"
const maxLocalPart = 64

/**
 * Adds support for quoted local parts (RFC 5321 section 4.1.2). The library smtp-server cannot parse them. An atom replaces the
 * quoted text while smtp-server parses the command.
 */
function readQuotedLocalParts(server: SMTPServer, sessionId: string): void {
  const connections = server.connections as unknown as ReadonlySet<Connection>
  const connection = [...connections].find(({ id }) => id === sessionId)
  if (!connection) return
  const parse = connection._parseAddressCommand.bind(connection)
  connection._parseAddressCommand = (name, command) => {
    const [, before = "", local, after = ""] = quoted.exec(command.toString()) ?? []
    if (local === undefined || local.length > maxLocalPart) return parse(name, command)
    const parsed = parse(name, `${before}${standIn}${after}`)
    if (!parsed) return parsed
    // Unnecessary quotes have no meaning: "ada"@example.com is ada@example.com.
    const plain = local.replace(/\\(.)/gsu, "$1")
    const spelled = dotAtom.test(plain) ? plain : `"${plain.replace(/["\\]/g, "\\$&")}"`
    return { ...parsed, address: `${spelled}${parsed.address.slice(standIn.length)}` }
  }
}
