// Screens of conversations by chat app, text message and mail: the inbox, and a conversation with a reply form.
import type { Contribution } from "#console"

export default {
  screens: [
    {
      path: "conversations",
      title: "Conversations",
      needs: ["chatapp_conversations.list", "text_conversations.list"],
      navigation: { group: "Now", order: 30 },
      load: () => import("./list.tsx"),
    },
    {
      path: "conversations/mail/{id}",
      title: "Conversation by mail",
      needs: ["email_conversations.get"],
      load: () => import("./mail.tsx"),
    },
    {
      path: "conversations/{channel}/{id}",
      title: "Conversation",
      needs: ["chatapp_conversations.get", "text_conversations.get"],
      load: () => import("./one.tsx"),
    },
  ],
  views: [
    {
      area: "phone_numbers",
      title: "Phone numbers",
      navigation: { group: "Delivery", order: 30 },
      columns: { phone_numbers: ["number", "name", "agent_ref", "chat_app.integration", "sms.integration"] },
    },
    { area: "opt_outs", title: "Opt-outs", navigation: { group: "Delivery", order: 55 } },
    { area: "chatapp_conversations", navigation: "elsewhere" },
    { area: "text_conversations", navigation: "elsewhere" },
  ],
} satisfies Contribution
