// Operator settings of the SMTP server.
import { z } from "zod"

const dayMs = 86_400_000

export const Settings = z
  .strictObject({
    port: z.int().min(0).max(65_535).nullable().default(null).describe("Port of the SMTP server, usually 25; null: no mail is received."),
    host: z.string().min(1).default("0.0.0.0").describe("Address to listen on."),
    hostname: z
      .string()
      .regex(/^[a-z0-9.-]{1,253}$/i, "a host name such as inbound.example.com")
      .default("inbound.millrace.localhost")
      .describe("What the server calls itself; `receiving_host` of the sending domains."),
    proxies: z
      .array(z.union([z.ipv4(), z.ipv6()]))
      .max(100)
      .default([])
      .describe(
        "Addresses of load balancers, which say by the PROXY protocol (version 1) who connects; each must, others are not believed.",
      ),
    tls: z
      .strictObject({
        cert_file: z.string().min(1).describe("Certificate chain, PEM."),
        key_file: z.string().min(1).describe("Private key, PEM."),
      })
      .optional()
      .describe("Certificate for STARTTLS; read again each hour. Absent: STARTTLS is not offered."),
    max_message_bytes: z.int().min(1_024).max(52_428_800).default(20_971_520).describe("Maximum size of a message."),
    max_buffered_bytes: z
      .int()
      .min(1_024)
      .default(104_857_600)
      .describe("Maximum size of all messages that are coming in; beyond it clients are told to try again later."),
    max_recipients: z.int().min(1).max(1_000).default(100).describe("Recipients of one message."),
    max_connections: z.int().min(1).default(200).describe("Connections at once."),
    max_connections_per_address: z.int().min(1).default(20).describe("Connections at once of one client, an IPv4 address or IPv6 /64."),
    messages_per_minute_per_address: z.int().min(1).default(120).describe("Messages that one client may send in a minute."),
    messages_per_minute_per_organization: z.int().min(1).default(600).describe("Messages that an organization's domains take in a minute."),
    bytes_per_minute_per_address: z
      .int()
      .min(1_024)
      .default(104_857_600)
      .describe("Bytes of messages that one client may send in a minute. A message is accepted whole while some are left."),
    bytes_per_minute_per_organization: z
      .int()
      .min(1_024)
      .default(209_715_200)
      .describe("Bytes of messages that an organization's domains take in a minute."),
    forwards_per_minute_per_organization: z
      .int()
      .min(1)
      .default(60)
      .describe("Messages that are forwarded to an organization's mailboxes in a minute; those beyond it are kept and not forwarded."),
    idle_timeout_ms: z.int().min(100).max(dayMs).default(60_000).describe("How long a client may be silent."),
    session_timeout_ms: z.int().min(100).max(dayMs).default(600_000).describe("How long a connection may last."),
    keep_raw_days: z.int().min(1).max(3_650).default(30).describe("How long messages are kept as they came."),
  })
  .refine((one) => one.max_buffered_bytes >= one.max_message_bytes, {
    path: ["max_buffered_bytes"],
    message: "at least max_message_bytes",
  })
export type Settings = z.output<typeof Settings>
