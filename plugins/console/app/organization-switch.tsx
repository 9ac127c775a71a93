// The organization of the session, in the header. A person of several organizations switches here.
import { useSignal } from "@preact/signals"
import { me, switchOrganization } from "./api.ts"
import { inBackground } from "./connection.ts"
import { escapeBidi, UntrustedText } from "./foreign.tsx"
import { go, hrefOf, segments } from "./place.ts"

export function OrganizationSwitch() {
  const problem = useSignal("")
  const isBusy = useSignal(false)
  const { organization, organizations } = me.value ?? { organizations: [] }
  if (!organization) return null
  if (organizations.length < 2)
    return (
      <span>
        <UntrustedText text={organization.name} />
      </span>
    )
  const change = async (slug: string) => {
    isBusy.value = true
    // The other organization lacks the open resource, but has the same areas.
    go(hrefOf(segments().slice(0, 1)))
    problem.value = await switchOrganization(slug)
    isBusy.value = false
  }
  return (
    <>
      <select
        aria-label="Organization"
        class="organization"
        value={organization.slug}
        disabled={isBusy.value}
        onChange={(event) => inBackground(change(event.currentTarget.value))}
      >
        {organizations.map(({ slug, name }) => (
          <option key={slug} value={slug}>
            {escapeBidi(name)}
          </option>
        ))}
      </select>
      {problem.value !== "" && (
        <span role="alert" class="problem">
          {problem.value}
        </span>
      )}
    </>
  )
}
