// A plugin that forbids messages to one number.
import { z } from "zod"
import { definePlugin } from "#core"
import { OutboundVetoes } from "../../../plugins/conversations/index.ts"

export const forbidden = "+4915190000099"

export const vetoing = definePlugin({
  id: "test-vetoes",
  needs: ["conversations"],
  config: z.strictObject({}),
  register(registrar) {
    registrar.run("vetoes", {
      inject: { vetoes: OutboundVetoes },
      create({ vetoes }) {
        vetoes.use(async (_, { address }) => (address === forbidden ? { by: "test", why: "they asked us in person." } : undefined))
      },
    })
  },
})
