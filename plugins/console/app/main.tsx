// The page: signing in, the areas beside the place that is shown, and what is wrong with the connection.
import { effect, useSignal } from "@preact/signals"
import { render } from "preact"
import { areaOf, load, may, me, operations, signIn, signOut, words } from "./api.ts"
import { Area, Do, One } from "./area.tsx"
import { Confirmation } from "./buttons.tsx"
import { lost, returns, trouble } from "./connection.ts"
import { type Contribution, contribute, groups, screenAt, screens } from "./contributions.ts"
import { Lazy } from "./lazy.tsx"
import { Overview } from "./overview.tsx"
import { openPalette, Palette } from "./palette.tsx"
import { follow, go, hrefOf, place, segments } from "./place.ts"

function SignIn() {
  const problem = useSignal("")
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    const key = String(new FormData(event.currentTarget as HTMLFormElement).get("key") ?? "").trim()
    problem.value = key === "" ? "Give a key." : await signIn({ key })
  }
  return (
    <main id="main" class="sign-in">
      <h1>Millrace</h1>
      <form onSubmit={(event) => void submit(event)} aria-label="Sign in" noValidate>
        <label for="key">API key</label>
        <input id="key" name="key" type="password" autocomplete="current-password" aria-describedby="key-problem" />
        <p id="key-problem" role="alert" class="problem">
          {problem.value}
        </p>
        <button type="submit">Sign in</button>
      </form>
      <p>The first start of the service prints a key, and a link that signs in once.</p>
    </main>
  )
}

function Place() {
  const parts = segments()
  const [area, id, name] = parts
  const shown = screenAt(parts)
  if (shown) {
    const { screen, params } = shown
    return <Lazy key={`${screen.path} ${JSON.stringify(params)}`} load={screen.load} props={{ params }} />
  }
  if (area === undefined) return <Overview />
  if (id === "-" && name !== undefined) return <Do key={name} name={name} />
  if (id !== undefined && id !== "-") return <One key={`${area} ${id}`} area={area} id={id} />
  return <Area key={area} area={area} />
}

/** Screens under their headings, then the areas that are shown by their operations alone. */
function Navigation() {
  const current = segments()
  const own = screens().filter(({ navigation }) => navigation)
  const withScreen = new Set(own.map(({ path }) => path.split("/")[0]))
  const areas = [...new Set(operations.value.filter(may).map(areaOf))].filter((area) => !withScreen.has(area)).sort()
  const here = screenAt(current)?.screen ?? own.find(({ path }) => path === current[0])
  const link = (parts: readonly string[], title: string, isHere: boolean) => (
    <a key={parts.join("/")} href={hrefOf(parts)} aria-current={isHere ? "page" : undefined}>
      {title}
    </a>
  )
  return (
    <nav aria-label="Areas" class="areas">
      {link([], "Overview", current.length === 0)}
      {groups.map((group) => {
        const inGroup = own
          .filter(({ navigation }) => navigation?.group === group)
          .sort((a, b) => (a.navigation?.order ?? 100) - (b.navigation?.order ?? 100))
        if (inGroup.length === 0) return null
        return [
          <h2 key={group}>{group}</h2>,
          ...inGroup.map((screen) => link(screen.path.split("/"), screen.title, screen === here || screen.path === current[0])),
        ]
      })}
      {areas.length > 0 && <h2>{own.length > 0 ? "More" : "Areas"}</h2>}
      {areas.map((area) => link([area], words(area), area === current[0]))}
    </nav>
  )
}

function App() {
  if (me.value === undefined) return <p role="status">{trouble.value || "Loading"}</p>
  if (me.value === null) return <SignIn />
  return (
    // biome-ignore lint/a11y: links are followed here, by keyboard as well
    <div class="frame" onClick={follow}>
      <a class="skip" href="#main">
        To the content
      </a>
      <header>
        <a href={hrefOf([])}>Millrace</a>
        <span>{me.value.organization.name}</span>
        <button type="button" onClick={openPalette}>
          Go to <kbd>Ctrl K</kbd>
        </button>
        <button type="button" onClick={() => void signOut()}>
          Sign out
        </button>
      </header>
      {trouble.value !== "" && (
        <p role="alert" class="trouble">
          Connection lost, trying again. <span>{trouble.value}</span>
        </p>
      )}
      <Navigation />
      <main id="main" tabIndex={-1}>
        <Place />
      </main>
      <Palette />
      <Confirmation />
    </div>
  )
}

/** Called by the bundle's entry, with what the areas contribute. */
export function start(contributions: readonly Contribution[]): void {
  contribute(contributions)
  const code = new URLSearchParams(location.hash.slice(1)).get("code")
  // Out of the address before anything else: it is not to be kept in the history.
  if (code !== null) go(place.value.pathname, { replace: true })
  const root = document.getElementById("app")
  if (root) render(<App />, root)
  effect(() => {
    document.title = [...segments().reverse(), "Millrace"].join(" · ")
  })
  effect(() => {
    const again = returns.value
    if (me.peek() === undefined) void begin(again === 0 ? code : null)
  })
}

async function begin(code: string | null): Promise<void> {
  try {
    await load()
    if (code !== null && me.value === null) await signIn({ code })
  } catch (error) {
    lost((error as Error).message)
  }
}
