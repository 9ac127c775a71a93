// The coarse browser family of a User-Agent (specification 2.11 names the values). Browsers built upon another's engine
// carry its marks as well, and are looked for first.
import { firstOf, type Rule } from "./rule.ts"

const browsers: readonly Rule[] = [
  ["edge", /\bEdg(?:e|A|iOS|W)?\/|\bEdge \d|\bEdgHTML\//],
  ["opera", /\bOPR\/|\bOPRGX\/|\bOpera\b|\bOPiOS\/|\bOPT\/|\bOPX\/|\bCoast\/|\bOMI\/\d/],
  ["samsung", /SamsungBrowser\/|Samsung ?Internet/i],
  [
    "other",
    /\bMSIE |Trident\/|YaBrowser\/|Yowser\/|YaApp_|UCBrowser|UCWEB|UCTurbo|\bUBrowser|Vivaldi\/|QQBrowser|QQ\/\d+.*QBrowser|MetaSr|Maxthon|MxBrowser|MxNitro|MiuiBrowser|XiaoMi\/MiuiBrowser|Mint Browser|HuaweiBrowser|HeyTapBrowser|OppoBrowser|VivoBrowser|OculusBrowser|\bPicoBrowser|\bWhale\/|\bSilk\/|Puffin\/|DuckDuckGo\/|\bDdg\/|Brave(?:\/| Chrome\/)|Electron\/|SeaMonkey|PaleMoon|Pale Moon|Waterfox|Iceweasel|IceCat|Icedragon|IceDragon|Basilisk|K-Meleon|Camino\/|Galeon\/|Flock\/|Cyberfox|Conkeror|Swiftfox|Lunascape|Konqueror|Falkon|QupZilla|Epiphany|Midori|Otter\/|Arora\/|rekonq|Dooble|qutebrowser|QtWebEngine|OmniWeb|iCab|Shiira|PhantomJS|\bDolfin|Jasmine\/|NokiaBrowser|Nokia\w*\/|BrowserNG|SymbianOS|\bSeries ?(?:40|60|80)|BB10|BlackBerry|PlayBook|IEMobile|XBLWP|Kindle\/|coc_coc_browser|CocCoc|360SE|360EE|QihooBrowser|QHBrowser|LBBROWSER|LieBaoFast|Quark\/|baidubrowser|BIDUBrowser|baidubrowserrabbit|baiduboxapp|2345Explorer|2345Browser|TheWorld|SE 2\.X|Sogou|Sleipnir|Avast(?:SecureBrowser)?\/|\bAVG\/|CCleaner\/|Comodo_Dragon|Wolvic|NetFront|\bObigo|Teleca|\bTeashark|\bPolaris\/|\bOpenwave|UP\.Browser|UP\.Link|Minimo|\bIron\/|\bIron Safari|\bRockMelt|\bLynx\/|\bLinks \(|\bELinks|\bw3m\/|Dillo\/|NetSurf|Dolphin\/|Dolphin http|Mercury\/|Skyfire|MAUI|webOSBrowser|wOSBrowser|hpwOS|HbbTV|NetCast|NetTV|Espial|Maple|InettvBrowser|Vewd|Tizen|Bada\/|PlayStation|PLAYSTATION|Nintendo|\bNX\/|SailfishBrowser|Ubuntu Web|Phoenix ?(?:Browser)?\/(?!0)|HiBrowser\/|Aloha ?Browser|AlohaBrowser|Ecosia|Cake\/|Kiwi\/|JioPages|JioBrowser|Ghostery|APUS|Stargon|Snowhaze|SnowHaze|AOLBuild|AOLShield|\bAmaya|Orca\/\d|Crazy Browser|Avant ?Browser|SlimBrowser|Chromodo|SRWare|Torch\/|Nichrome|Kinza\/|Blisk\/|Colibri\/|Wavebox|ValveSteam|Cliqz|LibreWolf|Via\/|Lightning\/|Instabridge|QuickLook|Ordissimo|Beamrise|Chedot|Elements Browser|Freeu|Uran\//i,
  ],
  [
    "firefox",
    /\bFirefox\b|\bFxiOS\/|\bFocus\/|\bKlar\/|\bFennec\/|\bNamoroka\/|\bShiretoko\/|\bMinefield\/|\bGranParadiso\/|\bBonEcho\/|\bFirebird\/|\bPhoenix\/0|\bFirefoxOS\b|\(Mobile; rv:|\(Tablet; rv:/,
  ],
  ["chrome", /\bChrome\/|\bCriOS\/|\bChromium\/|\bCrMo\/|HeadlessChrome\//],
  // The old Android browser: WebKit with Safari's mark, on Android, without Chrome's.
  ["other", /\bAndroid\b|\bLinux; U; Adr\b/],
  [
    "safari",
    /\bVersion\/[\d.]+.*\bSafari\/|(?:iPhone|iPad|iPod|Macintosh|Mac OS X)[^)]*\) AppleWebKit\/|\bMobileSafari\/|\bSafari\/[\d.]+ CFNetwork/,
  ],
  ["other", /\bMozilla\/|\bAppleWebKit\//],
]

export function browserOf(agent: string): string {
  return firstOf(browsers, agent)
}
