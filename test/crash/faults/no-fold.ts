// A service that never folds a conversation, as after a kill between a webhook's commit and the following job. Loaded with
// --import, by tests only.
import { Folds } from "../../../plugins/people/conversations/fold/fold.ts"

Folds.prototype.stage = () => new Promise<never>(() => undefined)
