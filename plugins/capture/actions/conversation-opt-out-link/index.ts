// The action `conversation.opt_out_link`, as a plugin.
import { z } from "zod"
import { defineAction, definePlugin, template } from "#core"
import { E164, OptOutLinks } from "../../../people/conversations/index.ts"

export default definePlugin({
  id: "action-conversation-opt-out-link",
  needs: ["conversations"],
  config: z.strictObject({}),
  register: (registrar) => registrar.actions(conversationOptOutLink),
})

/** Creates a link that opts a person out of a channel. A later mail or reply can include the link. */
export const conversationOptOutLink = defineAction({
  type: "conversation.opt_out_link",
  summary: "Make the link by which a person opts out of the chat app or of text messages.",
  description:
    "A later step puts `{{ steps.<id>.url }}` into a mail. The person who opens it is asked, and opted out by the button; it does not expire.",
  timing: "commit",
  idempotency: "exactly_once",
  config: z.strictObject({
    channel: z.enum(["chat_app", "sms"]).describe("Each channel has a ledger of its own."),
    address: template(E164).describe("The person's number, with its country code."),
  }),
  result: z.object({ url: z.url() }),
  examples: [
    {
      title: "No more text messages",
      yaml: 'type: conversation.opt_out_link\nchannel: sms\naddress: "+493098765432"\n',
    },
  ],
  inject: { links: OptOutLinks },
  run: async ({ config, context, deps }) => ({
    url: await deps.links.url({ ...config, organization: context.organization.id, messageId: null }),
  }),
})
