// Mail that left becomes a message of the conversation with its recipient, so that the reply finds it there.
import type { Logger, UnitsOfWork } from "#core"
import type { MailGuard } from "../../email/index.ts"
import type { Conversations } from "./conversations.ts"

export function rememberSent(conversations: Conversations, works: UnitsOfWork, log: Logger): MailGuard {
  return {
    withheld: async () => [],
    refused: async () => undefined,
    async sent({ organization, category, messageId }, { from, to, cc, subject, text, at }) {
      // Mail to many is a conversation with each who answers.
      if (category === "notice" || to.length !== 1) return
      const domain = from.address.slice(from.address.lastIndexOf("@") + 1)
      const plain = {
        message_id: messageId,
        from: { ...from },
        to: to.map((one) => ({ ...one })),
        cc: cc.map((one) => ({ ...one })),
        subject,
        text,
        at,
      }
      const message = { ...plain, direction: "outbound" as const, attachments: [], dated: at, inbound: null, references: [], domain }
      try {
        await works.run((work) => conversations.add(work, organization, message))
      } catch (error) {
        // It has left, and must not be sent again; a reply finds the conversation by its author.
        log.warn({ err: error, message_id: messageId }, "a sent mail could not be put into its conversation")
      }
    },
  }
}
