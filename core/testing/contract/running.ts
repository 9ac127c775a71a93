// Stands between the engine and an action's `run`, for as long as a promise is tried.
import type { AnyAction, RunArgs } from "../../contract/action.ts"
import type { TokenRecord } from "../../kernel/di.ts"

export type Watch = (run: () => unknown, args: RunArgs<unknown, TokenRecord>) => unknown

export async function whileWatched<T>(action: AnyAction, watch: Watch, during: () => Promise<T>): Promise<T> {
  const own = action.run
  action.run = (args: RunArgs<unknown, TokenRecord>) => watch(() => own.call(action, args), args)
  try {
    return await during()
  } finally {
    action.run = own
  }
}
