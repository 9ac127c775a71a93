// The first page: a card of each area that has something to say at a glance. Areas bring their cards in folders of their own.
import { me } from "./api.ts"
import { cards } from "./contributions.ts"
import { UntrustedText } from "./foreign.tsx"
import { Lazy } from "./lazy.tsx"

export function Overview() {
  const list = cards()
  return (
    <>
      <h1>
        <UntrustedText text={me.value?.organization?.name ?? ""} />
      </h1>
      <p class="about">
        Signed in as {me.value?.user?.email ?? "a service"}, {me.value?.role}. Press Ctrl K to go anywhere.
      </p>
      <div class="cards">
        {list.map((card) => (
          <section key={card.title} class={card.isWide ? "card wide" : "card"} aria-label={card.title}>
            <h2>{card.title}</h2>
            <Lazy load={card.load} props={{}} />
          </section>
        ))}
      </div>
    </>
  )
}
