// Device, browser family and in-app container from a User-Agent, by small ordered tables: the first pattern that matches
// decides. Coarse on purpose (specification 2.11 names the values); "" means no signal. Results are remembered, since few
// agents make most of the traffic.

export interface UserAgentClass {
  /** `mobile`, `tablet`, `desktop`, or "". */
  readonly device_type: string
  /** `chrome`, `safari`, `firefox`, `edge`, `samsung`, `opera`, `other`, or "". */
  readonly browser: string
  /** Lower-case name of the app whose webview it is, or "" for a standalone browser. */
  readonly in_app: string
}

type Rule = readonly [name: string, pattern: RegExp]

/** Apps sign their webviews; order matters where an app embeds another's marks (Instagram, Messenger and Threads carry Facebook's). */
const apps: readonly Rule[] = [
  ["instagram", /\bInstagram\b/],
  ["threads", /\bBarcelona\b/],
  ["messenger", /FBAN\/Messenger|MessengerForiOS|MessengerLite|FB_IAB\/Orca|\bOrca-Android/],
  ["facebook", /\bFB_IAB|\bFBAN\/|\bFBAV\/|\bFBIOS\b|\[FB/],
  ["whatsapp", /\bWhatsApp\//],
  ["tiktok", /musical_ly|BytedanceWebview|\bTikTok|\btrill_|ByteLocale|\bByteFullLocale/i],
  ["twitter", /Twitter for iP|TwitterAndroid|\bTwitter\//],
  ["linkedin", /LinkedInApp|\bLinkedIn\//],
  ["pinterest", /\bPinterest(?:\/|\s*for)/],
  ["snapchat", /\bSnapchat\b/],
  ["wechat", /MicroMessenger|\bWeChat\b/i],
  ["line", /\bLine\/\d|\bLIFF\b/],
  ["kakaotalk", /KAKAOTALK/i],
  ["kakaostory", /KAKAOSTORY/i],
  ["naver", /NAVER\(inapp/],
  ["daum", /\bDaumApps\b/],
  ["telegram", /Telegram-(?:Android|iOS)|\bTelegram\/|TelegramWebview/i],
  ["discord", /\bDiscord(?:\/|-)/i],
  ["slack", /\bSlack(?:_SSB)?\/|\bSlack_/],
  ["teams", /\bTeams(?:Mobile)?[-/]/],
  ["reddit", /\bReddit\/(?:Version|\d)|\bRedditAndroid/i],
  ["tumblr", /\bTumblr/],
  ["quora", /\bQuora\b/],
  ["viber", /\bViber\b/],
  ["zalo", /\bZalo\b/i],
  ["vk", /\bVKAndroidApp|\bVK\/|com\.vk\./],
  ["weibo", /\bWeibo\b|__weibo__/i],
  ["qq", /\bQQ\/\d|\bMQQBrowser.* QQ\//],
  ["alipay", /AlipayClient|\bAliApp\(AP/],
  ["taobao", /AliApp\(TB/],
  ["dingtalk", /DingTalk|AliApp\(Ding/],
  ["baidu", /baiduboxapp|baidubrowser.*baiduboxapp/i],
  ["toutiao", /NewsArticle\/|ToutiaoMicroApp/],
  ["douyin", /\baweme\b|aweme_/i],
  ["yahoo", /\bYJApp|YahooMobile|Yahoo%20|\bYahooApp/],
  ["gmail", /\bGmail(?:App)?\//],
  ["outlook", /Outlook-(?:iOS|Android)/],
  ["google", /\bGSA\/|\bGoogleApp\//],
  ["bing", /\bBingSapphire\/|\bBingWeb\//],
  ["duckduckgo", /\bDuckDuckGo\/\d.*Mobile App/],
  ["youtube", /com\.google\.android\.youtube|\bYouTube\/\d/],
  ["spotify", /\bSpotify\//],
  ["coinbase", /CoinbaseRetail|\bCoinbaseWallet/],
  ["metamask", /MetaMaskMobile/],
  ["webview", /; wv\)|\bAndroid\b.*\bVersion\/[\d.]+ Chrome\/[\d.]+/],
]

/** WebKit on an iPhone or iPad that is no browser's: an app's own view. */
const bareWebKit =
  /\((?:iPhone|iPad|iPod)[^)]*\) AppleWebKit\/[\d.]+ \(KHTML, like Gecko\)(?! Version\/)(?!.*(?:CriOS|FxiOS|EdgiOS|OPiOS|OPT|OPX|Focus|DuckDuckGo|Ddg|YaBrowser|Brave|UCBrowser|Coast|Safari)\/).*Mobile\//

const browsers: readonly Rule[] = [
  ["edge", /\bEdg(?:e|A|iOS)?\/|\bEdgW\//],
  ["opera", /\bOPR\/|\bOpera\b|\bOPiOS\/|\bOPT\/|\bOPX\/|\bOPRGX\//],
  ["samsung", /SamsungBrowser\//],
  [
    "other",
    /\bMSIE |Trident\/|YaBrowser\/|Yowser\/|UCBrowser|UCWEB|\bUBrowser|Vivaldi\/|QQBrowser|MetaSr|Maxthon|MiuiBrowser|HuaweiBrowser|HeyTapBrowser|VivoBrowser|\bOculusBrowser|\bWhale\/|\bSilk\/|Puffin\/|DuckDuckGo\/|\bDdg\/|Brave\/|Electron\/|SeaMonkey|PaleMoon|Waterfox|Iceweasel|Konqueror|Falkon|Epiphany|QtWebEngine|PhantomJS|\bDolfin|NokiaBrowser|BrowserNG|BB10|BlackBerry|IEMobile|Kindle\/|\bcoc_coc|coc_coc_browser|360SE|360EE|QihooBrowser|LBBROWSER|Quark\/|baidubrowser|BIDUBrowser|Sleipnir|AvastSecureBrowser|\bAvast\/|\bAVG\/|CCleaner\/|\bWolvic|\bNetFront|\bObigo|Minimo|Iron\/|\bLynx\/|\bLinks \(|\bElinks|w3m\//,
  ],
  ["firefox", /\bFirefox\/|\bFxiOS\/|\bFocus\/|\bKlar\//],
  ["chrome", /\bChrome\/|\bCriOS\/|\bChromium\/|\bCrMo\/|HeadlessChrome\//],
  ["safari", /\bVersion\/[\d.]+.*\bSafari\/|\((?:iPhone|iPad|iPod|Macintosh)[^)]*\) AppleWebKit\//],
  // The old Android browser: WebKit with Safari's mark, on Android, without Chrome's.
  ["other", /\bAndroid\b.*AppleWebKit\/|\bMozilla\/|\bAppleWebKit\//],
]

const devices: readonly Rule[] = [
  [
    "",
    /smart-?tv|\bSMART-TV|AppleTV|Apple TV|GoogleTV|\bBRAVIA|HbbTV|NetCast|Web0S|webOS\.TV|\bTizen [\d.]+\).*TV|\bAFT[A-Z0-9]+\b|\bCrKey\/|\bRoku\b|Android TV|\bMiTV|\bDTV\b|PlayStation|Nintendo|\bXbox\b|\bWatch\b|SM-R\d{3}/i,
  ],
  [
    "tablet",
    /\biPad\b|\bTablet\b(?! PC)|PlayBook|\bKindle\b|\bKF[A-Z]{2,5}\b|Silk\/(?!.*Mobile)|\bSM-[TXP]\d{3}|\bGT-[PN]\d{4}|\bSCH-I800|\bSHW-M180|Nexus (?:7|9|10)\b|Pixel (?:C|Tablet)\b|\bXoom\b|MediaPad|MatePad|\bAGS\d?-|\bBAH\d?-|\bTB-?[\dX]\w+|Lenovo (?:TAB|YT|YOGA)|\bYT\d?-|\bMi ?Pad|Redmi Pad|\bXiaoMi\/?Pad|\bOPD\d{4}|OnePlus Pad|\bT\d{3}[A-Z]? Build.*(?:Tab|Pad)|Transformer|\bTransformer Prime|\bA1-8\d\d|Iconia|\bVenue (?:7|8|10)|HP ?TouchPad|hp-tablet|Surface Duo|\bNook\b|BNTV|BNRV|\bTouchpad\b/i,
  ],
  [
    "mobile",
    /\biPhone\b|\biPod\b|\bMobi(?:le)?\b|Windows Phone|IEMobile|BlackBerry|\bBB10\b|Opera Mini|\bOPiOS\/|webOS\/|\bSymbian|Series ?[346]0|\bKAIOS\b|\bMIDP|UCWEB|\bJ2ME|Nokia\w+\/|\bFennec\//i,
  ],
  ["tablet", /\bAndroid\b/],
  [
    "desktop",
    /Windows NT|Windows 9[58]|Macintosh|Mac OS X|\bX11\b|\bCrOS\b|Linux (?:x86_64|i[3-6]86|aarch64|amd64)|\bFreeBSD|\bOpenBSD|\bLinux\b/,
  ],
]

const maxRemembered = 4_096
const remembered = new Map<string, UserAgentClass>()
const nothing: UserAgentClass = { device_type: "", browser: "", in_app: "" }

export function classifyUserAgent(agent: string): UserAgentClass {
  if (agent === "") return nothing
  const known = remembered.get(agent)
  if (known) return known
  // Beyond any honest length the text is only there to cost time.
  const text = agent.slice(0, 1_024)
  const classified = { device_type: firstOf(devices, text), browser: firstOf(browsers, text), in_app: inApp(text) }
  if (remembered.size >= maxRemembered) remembered.clear()
  remembered.set(agent, classified)
  return classified
}

function inApp(agent: string): string {
  const name = firstOf(apps, agent)
  return name === "" && bareWebKit.test(agent) ? "webview" : name
}

function firstOf(rules: readonly Rule[], text: string): string {
  return rules.find(([, pattern]) => pattern.test(text))?.[0] ?? ""
}
