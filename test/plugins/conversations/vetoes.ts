// A plugin that forbids messages to one number.
import { z } from "zod"
import { definePlugin } from "#core"
import { OutboundVetoes } from "../../../plugins/people/conversations/index.ts"

export const forbidden = "+4915190000099"

export const vetoing = definePlugin({
  id: "test-vetoes",
  needs: ["conversations"],
  config: z.strictObject({}),
  extend: [
    [OutboundVetoes, async (_, { address }) => (address === forbidden ? { by: "test", why: "they asked us in person." } : undefined)],
  ],
  register: () => undefined,
})
