// Open offers of ownership: accepted or declined by the member, withdrawn by an owner.
import { Ago, inBackground, me, OperationButton, type Output, refreshSession, UntrustedText, useAnswer } from "#console"
import { type Member, nameOf } from "./member-actions.tsx"

type Offer = Output<"ownership.list_offers">["offers"][number]

export function Offers({ members, onDone }: { readonly members: readonly Member[]; readonly onDone: () => void }) {
  // Reloaded together with the members, because offers are made in the list of members.
  const { answer, reload } = useAnswer("ownership.list_offers", {}, { everyMs: 10_000 })
  const refresh = () => {
    reload()
    onDone()
  }
  return (
    <>
      {(answer?.offers ?? []).map((offer) => (
        <OfferItem key={offer.to_user_id} offer={offer} members={members} onDone={refresh} />
      ))}
    </>
  )
}

interface OneArgs {
  readonly offer: Offer
  readonly members: readonly Member[]
  readonly onDone: () => void
}

function OfferItem({ offer: { from_user_id, to_user_id, expires_at }, members, onDone }: OneArgs) {
  const isOwn = to_user_id === me.value?.user?.id
  const organization = me.value?.organization?.name ?? ""
  const withdraw = { operation: "ownership.withdraw", input: { user_id: to_user_id }, onDone } as const
  return (
    <section aria-label="Offer of ownership" class="chosen">
      <p>
        <UntrustedText text={nameOf(from_user_id, members)} /> offers {isOwn ? "you" : <UntrustedText text={nameOf(to_user_id, members)} />}{" "}
        the ownership. The offer ends <Ago value={expires_at} />.
      </p>
      <div class="verbs">
        {isOwn && (
          <OperationButton
            operation="ownership.accept"
            input={{}}
            ask={`Become the owner of ${organization}?`}
            onDone={() => {
              onDone()
              inBackground(refreshSession())
            }}
          >
            Accept
          </OperationButton>
        )}
        <OperationButton {...withdraw}>{isOwn ? "Decline" : "Withdraw"}</OperationButton>
      </div>
    </section>
  )
}
