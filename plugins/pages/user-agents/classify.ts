// Classifies a User-Agent by device, browser family and in-app browser. Coarse on purpose; "" means no signal.
// Results are cached, since few agents make most of the traffic.
import { noUserAgent, type UserAgentClass } from "#core/engine"
import { deviceOf } from "./device.ts"
import { anyOf, firstOf, inAppOf, type Rule } from "./in-app.ts"

const maxRemembered = 4_096
const remembered = new Map<string, UserAgentClass>()

/** Returns device type, browser and in-app browser of a `User-Agent` header. */
export function classifyUserAgent(agent: string): UserAgentClass {
  if (agent === "") return noUserAgent
  const cached = remembered.get(agent)
  if (cached) return cached
  // No honest agent is longer. The cut bounds the time of matching.
  const text = agent.slice(0, 1_024)
  const classified = { device_type: deviceOf(text), browser: browserOf(text), in_app: inAppOf(text) }
  if (remembered.size >= maxRemembered) remembered.clear()
  remembered.set(agent, classified)
  return classified
}

// Coarse browser families. A browser built on another browser's engine also carries its tokens, so derived browsers come first. A
// webview has the family of its engine.

/** Browsers with their own name on Chromium, WebKit, Gecko or another engine, by their tokens. */
const pattern = anyOf(`
  YaBrowser Yowser YaApp_ YandexSearch UCWEB UCTurbo Vivaldi/ MetaSr Maxthon MxNitro MSIE Trident/
  Whale/ Silk/ Puffin/ DuckDuckGo/ Ddg/ Brave/ Brave_Chrome/ Electron/ Quark/ Kiwi/ AlohaBrowser Ecosia Cake/ Via/ Lightning/
  coc_coc CocCoc 360SE 360EE 360_Aphone Sleipnir Avast/ AvastSecure AVG/ CCleaner/ Comodo_ Chromodo Iron/ Torch/ Nichrome
  RockMelt Kinza/ Blisk/ Colibri/ Wavebox Beamrise Chedot Freeu Uran/ Amigo/ MRCHROME ChromePlus CoolNovo Sunrise/ Flock/
  SznProhlizec PHX/ ACHEETAHI Soul/ Odd/ Odin/ TV_Bro ABB/ Hawk/ mCent/ GoBrowser Quick_Search_TV wOSBrowser webOS/ hpwOS
  SeaMonkey PaleMoon Pale_Moon Waterfox Iceweasel IceCat IceDragon Basilisk K-Meleon Camino/ Galeon/ Cyberfox Conkeror
  Swiftfox LibreWolf Cliqz Netscape Firebird/ Phoenix/0 K-Ninja Kazehakase BonEcho_ Ordissimo MicroB Mobicip Orca/
  Konqueror Falkon QupZilla Epiphany Midori Otter/ Arora/ rekonq Dooble qutebrowser QtWebEngine QtCarBrowser OmniWeb iCab
  Shiira Fluid/ Cheshire/ Stainless/ PhantomJS BOLT/ NetNewsWire Lunascape Dolphin DolphinHD Mercury/ Skyfire Teashark
  Dolfin Jasmine/ NokiaBrowser BrowserNG SymbianOS Series_40 Series_60 Series_80 Series40 Series60 Series80
  BB10 PlayBook IEMobile XBLWP Kindle/ NetFront Obigo Teleca Polaris/ Openwave UP.Browser UP.Link Minimo
  MAUI Bada/ PlayStation Nintendo NX/ Lynx/ Links_( ELinks w3m/ Dillo/ NetSurf Amaya Crazy_Browser AvantBrowser Avant_Browser
  TheWorld 2345Explorer SE_2.X LieBaoFast baiduboxapp Tbrowser Stargon SnowHaze APUS Ghostery JioPages Instabridge AOLBuild
  AOLShield AOL/ AOL_ Elements_Browser ValveSteam Valve_Steam Espial Vewd SurfBrowser QuickLook
`)

/** Products with `Browser` in their name (`MiuiBrowser/`, `Mint Browser/`), except webviews of apps. */
const selfNamed = /(?<!\bInApp|\bin-app-|Samsung)Browser(?:[_ ]?[A-Za-z]{0,9})?\/\d|\bUBrowser\b|QQBrowser|baidubrowser/i

const browsers: readonly Rule[] = [
  ["edge", /\bEdg(?:e|A|iOS|W)?\/|\bEdge \d+\.|\bEdgHTML\//],
  ["samsung", /^(?!.*OculusBrowser).*(?:SamsungBrowser\/|Samsung ?Internet)/i],
  ["opera", /\bOPR\/|\bOPRGX\/|\bOpera\b(?!.*(?:UCBrowser|Tbrowser))|\bOPiOS\/|\bOPT\/|\bOPX\/|\bCoast\/|\bOMI\/\d/],
  ["other", pattern],
  ["other", selfNamed],
  [
    "firefox",
    /Firefox|\bFxiOS\/|\bFocus\/|\bKlar\/|\bFennec\/|\b(?:Namoroka|Shiretoko|Minefield|GranParadiso|BonEcho)\/|\((?:Mobile|Tablet); rv:/,
  ],
  ["chrome", /Chrome ?\/|\bCriOS\/|\bChromium[/_ ]|\bCrMo\//i],
  // The old browsers of Android, BlackBerry and Nokia: WebKit with Safari's token, without Chrome's.
  ["other", /\bAndroid\b|\bLinux; U; Adr\b|\bBlackBerry|\bNokia/],
  [
    "safari",
    /\bVersion\/[\d.]+.*Safari\/|(?:iPhone|iPad|iPod|Macintosh|Mac OS X)[^)]*\) AppleWebKit\/|\bMobileSafari\/|\bSafari\/?[\d.]+ CFNetwork/,
  ],
]

/** "other" means a browser without its own family here, or a program other than a browser. */
function browserOf(agent: string): string {
  return firstOf(browsers, agent) || "other"
}
