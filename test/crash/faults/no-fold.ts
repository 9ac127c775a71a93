// A service that never gets to fold a conversation: what a kill between a webhook's commit and the job after it leaves.
// Loaded with --import, by tests only.
import { Folds } from "../../../plugins/people/conversations/fold/fold.ts"

Folds.prototype.stage = () => new Promise<never>(() => undefined)
