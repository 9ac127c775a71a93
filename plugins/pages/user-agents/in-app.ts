// Detects an app's webview by the app's own token. "" means a standalone browser, or a webview without an app name.

/**
 * Tokens of apps. Order matters if an app also carries another app's token (Instagram, Messenger and Threads carry Facebook's).
 */
const apps: readonly Rule[] = [
  ["instagram", /\bInstagram\b/],
  ["threads", /\bBarcelona \d/],
  [
    "messenger",
    /FBAN\/Messenger|MessengerForiOS|MessengerLite|FB_IAB\/(?:Orca|MESSENGER)|\bOrca-Android|FBPN\/com\.facebook\.(?:orca|mlite)/i,
  ],
  ["facebook", /\bFB_IAB|\bFBAN\/|\bFBAV\/|\bFBIOS\b|\[FB|\bFacebookCanvas|com\.facebook\.katana/],
  ["whatsapp", /\bWhatsApp\//],
  ["tiktok", /musical_ly|BytedanceWebview|\bTikTok|\btrill_|ByteLocale|ByteFullLocale|zhiliaoapp\.musically|ugc\.trill/i],
  ["douyin", /\baweme\b|aweme_/i],
  ["toutiao", /\bNewsArticle\/|ToutiaoMicroApp|\bTTWebView.*NewsLite/],
  ["twitter", /Twitter for i|Twitter ?Android|\bTwitter\/\d/],
  ["linkedin", /LinkedInApp|\bLinkedIn\/\d/],
  ["pinterest", /\bPinterest(?:\/|\s*for)/],
  ["snapchat", /\bSnapchat\b/i],
  ["wechat", /MicroMessenger|\bWeChat\b|\bWindowsWechat/i],
  ["wecom", /\bwxwork\//i],
  ["line", /\bLine\/\d|\bLIFF\b|;\s?IAB\b.*\bLine\b/],
  ["kakaotalk", /KAKAOTALK/i],
  ["kakaostory", /KAKAOSTORY/i],
  ["naver", /NAVER\(inapp|\bNAVER\//],
  ["daum", /\bDaumApps\b/],
  ["band", /\bBAND\/\d/],
  ["telegram", /Telegram-?(?:Android|iOS)|\bTelegram\/|TelegramWebview|org\.telegram/i],
  ["discord", /\bDiscord(?:\/|-)|com\.discord/i],
  ["slack", /\bSlack(?:_SSB)?\/|\bSlack_|com\.Slack\b|com\.tinyspeck/i],
  ["teams", /\bTeams(?:Mobile)?[-/]/],
  ["skype", /\bSkype\//],
  ["reddit", /\bReddit\/(?:Version|\d)|\bReddit(?:Android|iOS)|com\.reddit/i],
  ["tumblr", /\bTumblr/],
  ["quora", /\bQuora\b/],
  ["viber", /\bViber\b/],
  ["imo", /\bimo(?:Android|IOS)\b/],
  ["zalo", /\bZalo\b/i],
  ["vk", /\bVKAndroidApp|\bVK\/\d|com\.vk\.|com\.vkontakte/],
  ["ok", /\bOKAndroid\b|\bOKApp\b|ru\.ok\.android/],
  ["weibo", /\bWeibo\b|__weibo__/i],
  ["qq", /\bQQ\/\d|\bQzone\//],
  ["alipay", /AlipayClient|\bAliApp\(AP\b/],
  ["taobao", /AliApp\(TB\b|\bTaobao\b/],
  ["dingtalk", /DingTalk|AliApp\(Ding/],
  ["feishu", /\b(?:Feishu|Lark)\//],
  ["baidu", /baiduboxapp|\bbaiduboxlite\b/i],
  ["xiaohongshu", /XHSDiscover|\bdiscover\/\d.*\bXHS|xhsdiscover/i],
  ["kuaishou", /\bKwai(?:_Pro)?\/|\bKsWebView|\bksNebula\//],
  ["bilibili", /\bBiliApp\/|\bBilibili\b|\bbili-universal/i],
  ["zhihu", /ZhihuHybrid|\bZhihu\b/i],
  ["douban", /\bcom\.douban|\bDouban/],
  ["jd", /\bjdapp\b|\bJDApp\b/],
  ["pinduoduo", /\bphh_(?:android|ios)|\bpinduoduo\b/i],
  ["shopee", /\bShopee\b/i],
  ["lazada", /\bLazada\b|AliApp\(LA\b/i],
  ["line-news", /\bLINE ?NEWS\b/],
  ["yahoo", /\bYJApp|YahooMobile|Yahoo%20|\bYahoo(?:App|Mobile|Mail)|jp\.co\.yahoo/],
  ["gmail", /\bGmail(?:App)?\//],
  ["outlook", /Outlook-(?:iOS|Android)/],
  ["google", /\bGSA\/|\bGoogleApp\/|com\.google\.GoogleMobile/],
  ["bing", /\bBingSapphire\/|\bBingWeb\//],
  ["youtube", /com\.google\.(?:android|ios)\.youtube|\bYouTube\/\d/],
  ["spotify", /\bSpotify\//],
  ["soundcloud", /\bSoundCloud\//],
  ["netflix", /\bNetflix\//],
  ["twitch", /\bTwitch\/|tv\.twitch/],
  ["amazon", /\bAmazonWebAppPlatform|\bAmazon\.com\/|AMZN\(|AppName\/AMZN/i],
  ["ebay", /\beBay(?:Android|iPhone|iPad|IPhone|\/)/],
  ["flipboard", /\bFlipboard\//],
  ["smartnews", /\bSmartNews\b/i],
  ["newsbreak", /\bNewsBreak\b|com\.particlenews/i],
  ["nextdoor", /\bNextdoor\b/i],
  ["mastodon", /\bMastodon(?:Android|iOS)|\bTusky\//],
  ["bluesky", /\bBluesky\//],
  ["clubhouse", /\bclubhouse\//i],
  ["coinbase", /CoinbaseRetail|\bCoinbaseWallet/],
  ["metamask", /MetaMaskMobile/],
  ["grindr", /\bGrindr/],
  ["tieba", /\btieba\//],
  ["roblox", /\bRoblox\b/],
  ["xing", /\bXING\b/],
]

/** Preview fetchers carry an app's name but are not webviews. */
const fetcher = /(?<!cu)bot(?:\b|\/)|crawler|spider|externalhit/i

export function inAppOf(agent: string): string {
  return fetcher.test(agent) ? "" : firstOf(apps, agent)
}

export type Rule = readonly [name: string, pattern: RegExp]

/** Ordered pattern tables: the first match wins. */
export function firstOf(rules: readonly Rule[], text: string): string {
  return rules.find(([, pattern]) => pattern.test(text))?.[0] ?? ""
}

/** Matches any of the names, separated by spaces (`_` stands for a space within a name). Ignores matches inside longer words. */
export function anyOf(names: string, flags = "i"): RegExp {
  const parts = names
    .trim()
    .split(/\s+/)
    .map((name) => name.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&").replaceAll("_", "[ _]?"))
  return new RegExp(`(?<![A-Za-z])(?:${parts.join("|")})`, flags)
}
