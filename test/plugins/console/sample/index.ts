// A plugin whose screens use what the console offers them, each part once; for tests.
import { z } from "zod"
import { definePlugin } from "#core"

export default definePlugin({ id: "sample-screens", config: z.strictObject({}), register() {} })
