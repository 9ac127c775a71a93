// The person's organizations, for switching and creating.
import { useSignal } from "@preact/signals"
import {
  Answered,
  Badge,
  inBackground,
  me,
  NextPage,
  type Output,
  Problem,
  query,
  refreshSession,
  SameAs,
  switchOrganization,
  Table,
  Time,
  UntrustedText,
  useAnswer,
  useSubmit,
} from "#console"

type Organization = Output<"organizations.list">["organizations"][number]

export default function Organizations() {
  const { cursor = "" } = query()
  const list = useAnswer("organizations.list", cursor === "" ? {} : { cursor })
  return (
    <>
      <h1>Your organizations</h1>
      <Answered of={list}>
        {({ organizations, next_cursor }) => (
          <>
            <Table<Organization>
              label="Your organizations"
              rows={organizations}
              keyOf={({ id }) => id}
              columns={[
                { name: "name", show: ({ name }) => name },
                { name: "role", show: ({ role }) => <Badge>{role}</Badge> },
                {
                  name: "actions",
                  title: <span class="skip">Actions</span>,
                  show: ({ id, slug, name }) =>
                    id === me.value?.organization?.id ? <Badge tone="good">open</Badge> : <Open slug={slug} name={name} />,
                },
                { name: "slug", show: ({ slug }) => slug },
                { name: "created", show: ({ created_at }) => <Time value={created_at} /> },
              ]}
            />
            <NextPage cursor={next_cursor} />
          </>
        )}
      </Answered>
      {me.value?.may_create_organizations && <Create onDone={list.reload} />}
      <SameAs name="organizations.list" input={{}} />
    </>
  )
}

/** A key acts in its own organization alone, so its session cannot switch. */
export function Open({ slug, name }: { readonly slug: string; readonly name: string }) {
  const problem = useSignal("")
  if (!me.value?.sign_in) return null
  const open = async () => {
    problem.value = await switchOrganization(slug)
  }
  return (
    <>
      <button type="button" aria-label={`Open ${name}`} onClick={() => inBackground(open())}>
        Open
      </button>
      {problem.value !== "" && <Problem text={problem.value} />}
    </>
  )
}

export function Create({ onDone }: { readonly onDone: () => void }) {
  const newOrganization = useSignal({ name: "", time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone })
  const { submit, isBusy, error, answer } = useSubmit("organizations.create", newOrganization.value)
  const create = async () => {
    if (!(await submit(newOrganization.value))) return
    newOrganization.value = { ...newOrganization.value, name: "" }
    onDone()
    // The header lists the new organization.
    await refreshSession()
  }
  const field = (name: "name" | "time_zone", label: string) => (
    <div>
      <label for={`organization-${name}`}>{label}</label>
      <input
        id={`organization-${name}`}
        autocomplete="off"
        value={newOrganization.value[name]}
        onInput={(event) => {
          newOrganization.value = { ...newOrganization.value, [name]: event.currentTarget.value }
        }}
      />
    </div>
  )
  return (
    <section aria-label="Create an organization">
      <h2>Create an organization</h2>
      <p class="about">You become its owner. It shares nothing with your other organizations.</p>
      <form
        aria-label="Create an organization"
        class="filters whole"
        onSubmit={(event) => {
          event.preventDefault()
          inBackground(create())
        }}
      >
        {field("name", "Name")}
        {field("time_zone", "Time zone")}
        <button type="submit" class="primary" aria-disabled={isBusy}>
          Create
        </button>
      </form>
      {error && <Problem text={error.message} />}
      {answer && (
        <p role="status">
          <UntrustedText text={answer.name} /> was created. <Open slug={answer.slug} name={answer.name} />
        </p>
      )}
    </section>
  )
}
