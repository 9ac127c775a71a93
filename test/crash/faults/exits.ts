// A service that exits as soon as it listens. Loaded with --import, by tests only.
import { ListeningHooks } from "../../../core/bootstrap/surface.ts"

const real = ListeningHooks.prototype.listens

ListeningHooks.prototype.listens = async function ending(this: ListeningHooks, url: string) {
  await real.call(this, url)
  setTimeout(() => process.exit(7), 100)
}
