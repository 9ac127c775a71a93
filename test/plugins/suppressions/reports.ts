// Bounces and complaints in the form of mail servers and mailbox providers.
interface Recipient {
  readonly final: string
  readonly original?: string
  readonly action?: string
  readonly status?: string
  readonly diagnostic?: string
}

let count = 0

function multipart(type: string, parts: readonly (readonly [type: string, text: string])[]): string {
  const body = parts.map(([media, text]) => `--b\r\nContent-Type: ${media}\r\n\r\n${text}\r\n`).join("")
  return [
    "From: Mail Delivery System <MAILER-DAEMON@elsewhere.test>",
    "Subject: Undelivered Mail Returned to Sender",
    `Message-ID: <report-${count++}@elsewhere.test>`,
    `Content-Type: ${type}; boundary="b"`,
    "",
    `${body}--b--`,
    "",
  ].join("\r\n")
}

/** `form` is the type of the whole message; some servers use multipart/mixed. */
export function bounce(recipients: readonly Recipient[], form = "multipart/report; report-type=delivery-status"): string {
  const groups = recipients.map(({ final, original, action = "failed", status, diagnostic }) =>
    [
      original === undefined ? "" : `Original-Recipient: rfc822;${original}\r\n`,
      `Final-Recipient: rfc822; ${final}\r\nAction: ${action}\r\n`,
      status === undefined ? "" : `Status: ${status}\r\n`,
      diagnostic === undefined ? "" : `Diagnostic-Code: smtp;\r\n ${diagnostic}\r\n`,
    ].join(""),
  )
  return multipart(form, [
    ["text/plain", "I'm sorry to have to inform you that your message could not be delivered."],
    ["message/delivery-status", ["Reporting-MTA: dns; mx.elsewhere.test\r\n", ...groups].join("\r\n")],
    ["message/rfc822", "From: team@example.com\r\nSubject: Hello\r\n\r\nHello"],
  ])
}

interface Feedback {
  readonly type?: string
  readonly mailFrom?: string
  readonly to?: string
  readonly returnPath?: string
}

export function complaint({ type = "abuse", mailFrom, to, returnPath }: Feedback): string {
  const fields = [
    `Feedback-Type: ${type}`,
    "User-Agent: Provider/1.0",
    "Version: 1",
    ...(mailFrom === undefined ? [] : [`Original-Mail-From: <${mailFrom}>`]),
    ...(to === undefined ? [] : [`Original-Rcpt-To: <${to}>`]),
  ]
  return multipart("multipart/report; report-type=feedback-report", [
    ["text/plain", "This is an email abuse report."],
    ["message/feedback-report", fields.join("\r\n")],
    ["message/rfc822", `${returnPath === undefined ? "" : `Return-Path: <${returnPath}>\r\n`}From: team@example.com\r\n\r\nHello`],
  ])
}
