// The page: sign-in, the navigation beside the current place, and connection problems.
import { effect, signal } from "@preact/signals"
import { render } from "preact"
import { useEffect, useLayoutEffect, useRef } from "preact/hooks"
import { areaOf, isSignedOut, load, may, me, operations, parting, signInRequest, signOut, verbOf } from "./api.ts"
import { Confirmation } from "./buttons.tsx"
import { connectionProblem, inBackground, reportLost, returns } from "./connection.ts"
import { type Contribution, cards, contribute, groups, partsOf, screenAt, screens, viewOf } from "./contributions.ts"
import { UntrustedText } from "./foreign.tsx"
import { Lazy } from "./lazy.tsx"
import { OrganizationSwitch } from "./organization-switch.tsx"
import { openPalette, Palette } from "./palette.tsx"
import { follow, go, hrefOf, place, segments } from "./place.ts"
import { SameAsButtons } from "./same.tsx"
import { checkOwnerLink } from "./session.ts"

/** Covers the open page until the next sign-in. The focus then returns to its previous place. */
function SignedOut() {
  const dialog = useRef<HTMLDialogElement>(null)
  // Runs before the content takes the focus, so the dialog can restore the previous focus.
  useLayoutEffect(() => {
    const element = dialog.current
    element?.showModal()
    return () => element?.close()
  }, [])
  return (
    <dialog
      ref={dialog}
      class="away"
      aria-label="Sign in"
      onCancel={(event) => event.preventDefault()}
      onClose={() => dialog.current?.showModal()}
    >
      <Lazy load={signInForm} props={{ link, ownerLink }} />
    </dialog>
  )
}

function Place() {
  const parts = segments()
  const [area, id, name] = parts
  const match = screenAt(parts)
  if (match) {
    const { screen, params } = match
    return <Lazy key={`${screen.path} ${JSON.stringify(params)}`} load={screen.load} props={{ params }} />
  }
  if (!me.value?.organization) return <Parts of="no-organization" />
  if (area === undefined) return <Overview />
  return <Lazy key={JSON.stringify(parts)} load={generic} props={{ area, id, name }} />
}

/** Contributions of areas to a place of the frame. */
function Parts({ of, isQuiet = false }: { readonly of: string; readonly isQuiet?: boolean }) {
  return (
    <>
      {partsOf(of).map(({ name, load }) => (
        <Lazy key={name} load={load} props={{ subject: {} }} isQuiet={isQuiet} />
      ))}
    </>
  )
}

/** Generic pages of operations. Loaded on first use. */
const generic = () => import("./generic.tsx")
const signInForm = () => import("./sign-in.tsx")
const join = () => import("./join.tsx")
const signInAgain = () => import("./sign-in-again.tsx")

interface Link {
  readonly parts: readonly string[]
  readonly title: string
  readonly group: string
  readonly order: number
}

/** Screens and areas under their headings. Areas without a position come last. */
function links(): Link[] {
  const screenLinks = screens().flatMap(({ path, title, navigation }): Link[] =>
    navigation ? [{ parts: path.split("/"), title, group: navigation.group, order: navigation.order ?? 100 }] : [],
  )
  const withScreen = new Set(screenLinks.map(({ parts }) => parts[0]))
  const areas = [...new Set(operations.value.filter(may).map(areaOf))].filter((area) => !withScreen.has(area))
  const areaLinks = areas.flatMap((area): Link[] | Link => {
    const { title, navigation } = viewOf(area)
    if (navigation === "elsewhere") return []
    return { parts: [area], title, group: navigation?.group ?? "More", order: navigation?.order ?? 100 }
  })
  return [...screenLinks, ...areaLinks].sort((a, b) => a.order - b.order || (a.title < b.title ? -1 : 1))
}

function Navigation() {
  const nav = useRef<HTMLElement>(null)
  const current = segments()
  // Scrolls the current link into view, at each place and window size.
  useEffect(() => {
    const element = nav.current
    if (!element) return
    const sized = new ResizeObserver(() => {
      const link = element.querySelector<HTMLElement>("[aria-current]")
      if (!link) return
      const { offsetLeft, offsetTop, offsetWidth, offsetHeight } = link
      element.scrollTo(offsetLeft + (offsetWidth - element.clientWidth) / 2, offsetTop + (offsetHeight - element.clientHeight) / 2)
    })
    sized.observe(element)
    return () => sized.disconnect()
  }, [current.join("/")])
  const activePath = (screenAt(current)?.screen.path ?? current[0] ?? "").split("/")
  const allLinks = links()
  // The longest path containing the place: its screen, else its area.
  const [nearest] = allLinks
    .filter(({ parts }) => parts.every((part, index) => part === activePath[index]))
    .sort((a, b) => b.parts.length - a.parts.length)
  const link = ({ parts, title }: Pick<Link, "parts" | "title">, isHere: boolean) => (
    <a key={parts.join("/")} href={hrefOf(parts)} aria-current={isHere ? "page" : undefined}>
      {title}
    </a>
  )
  return (
    <nav aria-label="Areas" class="areas" ref={nav}>
      {link({ parts: [], title: "Overview" }, current.length === 0)}
      {[...groups, "More"].map((group) => {
        const inGroup = allLinks.filter((item) => item.group === group)
        return inGroup.length > 0 && [<h2 key={group}>{group}</h2>, ...inGroup.map((item) => link(item, item === nearest))]
      })}
    </nav>
  )
}

/** If the focused element disappears after its action, the content receives the focus instead of the page top. */
function keepFocus(): () => void {
  let last: Element | null = null
  const note = () => {
    last = document.activeElement
  }
  const watch = new MutationObserver(() => {
    if (last?.isConnected === false && document.activeElement === document.body)
      document.getElementById("main")?.focus({ preventScroll: true })
  })
  addEventListener("focusin", note)
  watch.observe(document.body, { childList: true, subtree: true })
  return () => {
    removeEventListener("focusin", note)
    watch.disconnect()
  }
}

function App() {
  useEffect(keepFocus, [])
  if (me.value === undefined) return <p role="status">{connectionProblem.value || "Loading"}</p>
  if (me.value === null || invitation.value !== null)
    return (
      <main>
        {invitation.value === null ? (
          <Lazy load={signInForm} props={{ link, ownerLink }} />
        ) : (
          <Lazy load={join} props={{ code: invitation }} />
        )}
      </main>
    )
  const { organization, user, role, scopes } = me.value
  return (
    // The key discards the page of another person.
    // biome-ignore lint/a11y: handles links, by keyboard as well
    <div key={JSON.stringify([organization, user?.id, role, scopes])} class="frame" onClick={follow}>
      {isSignedOut.value && <SignedOut />}
      <a class="skip" href="#main">
        To the content
      </a>
      <header>
        <a href={hrefOf([])}>Millrace</a>
        <OrganizationSwitch />
        <button type="button" onClick={openPalette}>
          Go to <kbd>Ctrl K</kbd>
        </button>
        <button type="button" onClick={() => inBackground(signOut())}>
          Sign out
        </button>
      </header>
      {connectionProblem.value !== "" && (
        <p role="alert" class="trouble">
          Connection lost, trying again. <span>{connectionProblem.value}</span>
        </p>
      )}
      <Navigation />
      <main id="main" tabIndex={-1}>
        <Parts of="frame" isQuiet />
        <Place />
        <SameAsButtons />
      </main>
      <Palette />
      <Confirmation />
      {signInRequest.value && <Lazy load={signInAgain} props={signInRequest.value} />}
    </div>
  )
}

/** Called by the bundle's entry with the contributions of areas. */
export function start(contributions: readonly Contribution[]): void {
  contribute(contributions)
  takeCode()
  addEventListener("popstate", () => {
    takeCode()
    inBackground(enter())
  })
  const root = document.getElementById("app")
  if (root) render(<App />, root)
  effect(() => {
    document.title = [...titlesOf(segments()), "Millrace"].join(" · ")
  })
  effect(() => {
    returns.value
    if (me.peek() === undefined) inBackground(begin())
  })
}

/** Returns the title parts of a place: the resource or operation, and its screen or area. */
function titlesOf(parts: readonly string[]): string[] {
  const [area, id, name] = parts
  const match = screenAt(parts)
  if (match) return [...Object.values(match.params), match.screen.title]
  if (area === undefined) return ["Overview"]
  const operation = operations.value.find((candidate) => candidate.name === name)
  const label = operation ? verbOf(operation) : id
  return [...(label === undefined || label === "-" ? [] : [label]), viewOf(area).title]
}

/** Code of the printed link of the first start, until its use. */
let code: string | null = null
/** Token of a mailed link. */
const link = signal<string | null>(null)
/** Token of the first owner's link while it is valid. */
const ownerLink = signal<string | null>(null)
/** Code of an invitation. */
const invitation = signal<string | null>(null)

/** Removes secrets from the URL first, so the history does not store them. */
function takeCode(): void {
  const parameters = new URLSearchParams(location.hash.slice(1))
  if (!parameters.has("code") && !parameters.has("link")) return
  if (segments()[0] === "join") invitation.value = parameters.get("code")
  else code = parameters.get("code") ?? code
  link.value = parameters.get("link")
  go(place.value.pathname, { replace: true })
}

/** Requests the name and address of the first owner if the link is valid. Otherwise shows the reason. */
async function enter(): Promise<void> {
  if (code === null || me.value === undefined) return
  const startCode = code
  code = null
  if (me.value !== null) return
  const problem = await checkOwnerLink(startCode)
  if (problem === "") ownerLink.value = startCode
  else parting.value = problem
}

async function begin(): Promise<void> {
  try {
    await load()
    await enter()
  } catch (error) {
    reportLost((error as Error).message)
  }
}

/** The first page, with a card for each area. Areas provide cards in their own folders. */
function Overview() {
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
