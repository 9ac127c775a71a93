// Tags that do work before they render a branch. `for` copies its collection, and `case` compares without an operator.
import { CaseTag, type Context, type Emitter, evalToken, ForTag, type Liquid, TypeGuards } from "liquidjs"
import { keyUnits, meter } from "./meter.ts"
import { comparisonUnits } from "./operators.ts"

/** Replaces both tags of the engine with charged versions. */
export function chargeTags(engine: Liquid): void {
  engine.registerTag("for", ChargedFor)
  engine.registerTag("case", ChargedCase)
}

/** Units for a copy of a member, up to twice. */
const memberUnits = 2

class ChargedFor extends ForTag {
  override *render(context: Context, emitter: Emitter): ReturnType<ForTag["render"]> {
    // A range charges for its members itself.
    if (!TypeGuards.isRangeToken(this.collection)) {
      const collection: unknown = yield evalToken(this.collection, context)
      meter.spend(copyUnits(collection))
    }
    return yield* super.render(context, emitter)
  }
}

function copyUnits(collection: unknown): number {
  if (Array.isArray(collection)) return memberUnits * collection.length
  return typeof collection === "object" && collection !== null ? 2 * keyUnits * Object.keys(collection).length : 0
}

class ChargedCase extends CaseTag {
  constructor(...given: ConstructorParameters<typeof CaseTag>) {
    super(...given)
    const { value } = this
    const evaluate = value.value.bind(value)
    const comparisons = this.branches.reduce((sum, { values }) => sum + values.length, 0)
    value.value = function* (context, lenient) {
      const target: unknown = yield evaluate(context, lenient)
      // Charges as if all values were equal, because the branch values are read later.
      meter.spend(comparisons * comparisonUnits("==", target, target))
      return target
    }
  }
}
