// A plugin whose screens use each part of the console once; for tests.
import { z } from "zod"
import { definePlugin } from "#core"

export default definePlugin({ id: "sample-screens", config: z.strictObject({}), register() {} })
