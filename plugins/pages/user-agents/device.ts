// Device type from a User-Agent: `mobile`, `tablet`, `desktop`, or "" for televisions, consoles, watches and unknown devices.
import { anyOf } from "./in-app.ts"

/** Laptops with Android or its apps, such as Chromebooks. */
const laptops =
  /Chromebook|Pixelbook|\b(?:Inspiron|Latitude|Vostro|TravelMate|Satellite|EliteBook|ProBook|ThinkPad|LIFEBOOK|Aspire)\b|\((?:PC|2in1); ?OpenHarmony/i

/** Explicit phone tokens, and phones older than Android and iPhone. */
const phones =
  /iPhone|iPod|dv\(iPh|\bPhone\b|Windows ?Phone|WPDesktop|\bWP7|XBLWP|IEMobile|Windows CE|Pocket ?PC|BlackBerry|\bBB10\b|\bRIM\d{3}|Opera Mini|Opera Mobi|\bOPiOS\/|Puffin\/[\d.]+(?:AP|IP|WP)\b|\bwebOS\/|\bPre\/\d|\bPixi\/|\bPalm(?:OS|Source|scape)?\b|Symb(?:ian|OS)|Series ?[3468]0|\bS60\b|\bKAIOS\b|\bMIDP|\bCLDC|UCWEB|U2\/1|\bJ2ME|J2ME\/|Nokia|SonyEricsson|\bSonyE|\bSAMSUNG-|\bSEC-S[GC]H|\bSGH-|\bSAGEM|\bLG-[A-Z]{1,3}\d|\bLGE?[-/]|\bMOT-|\bMotorola[-_]|\bZTE-|\bHUAWEI-|\bALCATEL[-_]|\bHTC[-_ /]|\bT-Mobile|\bDoCoMo|\bFOMA\b|jig browser|\bKDDI-|\bSoftBank\/|\bVodafone\/|\bJ-PHONE|\bemobile\/|\bWILLCOM|UP\.(?:Browser|Link)|\bWAP[- ]?(?:1\.|Browser)|\bObigo|\bTeleca|\bPolaris\/|\bMAUI|\bBREW|\bBada\b|\bMeeGo\b|\bMaemo\b|\bSailfish(?!.*Windows)|\bFennec\/|\bFirefox OS|\bLumia\b|\bSkyfire|\bDolfin|\bJasmine\/|\bMTK\b|\bMicromax|\bLava[- ]|\bKarbonn|\bGIONEE|\bTIANYU|\bLENOVO-|\bFLY-|\bPANTECH|\bHelio|\bDanger hiptop|\bsidekick|\bKyocera|\bKONKA|\bPhilips ?X|\bPhilips[A-Z@]?\d|\bSpreadtrum|\bOppo|\bandroidphone\b/i

const saysMobile = /\bMobi\b|\bMobile(?:Safari)?\b|\bmobile safari\b/

/** Phone models of the large makers. On the wide screen of a foldable phone, browsers omit `Mobile`. */
const phoneModels =
  /\bSM-[AEFGJMNSWC]\d{3}|^(?:CPH\d{4}|RMX\d{4}|V[12]\d{3}[A-Z]{0,2}$|P[A-H][A-Z]{2}\d0|M(?:19|20|21)\d\d[A-Z]|XT\d{4})|^[A-Z]{3}\d?-(?:AL|AN|CL|LX|NX|TL|TN)\d/

const desktops =
  /Windows(?: NT| 9\d| 2000| XP| Me| Server| 1[01])|\bWin(?:9[58]|NT|32|64|dows)\b|\bwin(?:7|8|10|11) x(?:64|86)|Macintosh|Mac OS|Mac_PowerPC|Power ?Mac|\bPPC\b|\bmacOS\b|(?:iMac|MacBook|MacPro|Macmini|\bMac\d+)\w*(?:,|%2C)\d|\bX11\b|\bCrOS\b|\bLinux\b|\bUbuntu\b|FreeBSD|OpenBSD|NetBSD|DragonFly|SunOS|HP-UX|\bAIX\b|\bIRIX|OpenVMS|CYGWIN|\bOS\/2\b|\bHaiku|\bBeOS|Amiga|\bAROS\b|Syllable|\bFuchsia\b|\bDarwin\/\d+.*(?:x86_64|i386)/i

const tablet = "tablet"

export function deviceOf(agent: string): string {
  const android = /\bAndroid\b|\bAdr \d/i.test(agent)
  const model = android ? androidModel(agent) : ""
  if (isNoneOfThem(agent, model)) return ""
  if (/iPad/.test(agent)) return tablet
  if (laptops.test(agent)) return "desktop"
  if (isTablet(agent, model)) return tablet
  if (saysMobile.test(agent) || phones.test(agent)) return "mobile"
  if (android) return saysNoMobile(agent) && !phoneModels.test(model) ? tablet : "mobile"
  return desktops.test(agent) ? "desktop" : ""
}

/** A tablet's browser omits `Mobile`. The token's absence means nothing in apps, truncated agents and Android 1 and 2. */
function saysNoMobile(agent: string): boolean {
  const browser = /AppleWebKit\/.*(?:Safari|OPR|Firefox)|Gecko\/|\bOpera\b.*Tablet/i.test(agent)
  return browser && !/\bAndroid [12]\./.test(agent)
}

const androidName =
  /\bAndroid[ /]?[\d.]*[;,]?\s*(?:[A-Za-z]{2}[-_](?:[A-Za-z]{4}[-_])?[A-Za-z]{2,3}\s*;\s*|HarmonyOS;\s*)?([^;()]{2,80}?)\s*(?:\bBuild\b|[;()]|AppleWebKit|$)/i

/**
 * Returns an Android device's model name. It follows the version (and a language in old agents) and precedes the build. "" if
 * absent.
 */
function androidModel(agent: string): string {
  return androidName.exec(agent)?.[1] ?? ""
}

// Tablets, regardless of other tokens: many send `Mobile` like a phone. Detected by explicit tokens, makers' model series, and
// common numbering of unbranded makers.

/** Explicit tablet tokens. */
const saidTablet =
  /(?<![a-z])tablet(?![a-z]| ?PC(?!\w))|\/apad\b|\bdv\(iPd|PlayBook|\bKindle\b(?! Fire Phone)|\bSilk\/(?!.*Mobile)|hpwOS|TouchPad|Puffin\/[\d.]+(?:AT|IT)\b|\bKobo\b|PocketBook\/|\bNook|\bBOOX/i

/** Model series of the large makers. */
const series = [
  // Amazon, Google, Nvidia, HTC, Dell, HP.
  /\bKF[A-Z]{2,6}\b|\bNexus ?(?:7|9|10)\b|\bPixel (?:C\b|Tablet)|\bXoom\b|Tegra ?Note|SHIELD Tablet|\bHTC[ _](?:A10\d|Flyer|Jetstream)|\bVenue ?(?:7|8|10)|\bStreak (?:7|10)|\bSlate ?(?:7|8|10|17|21)/i,
  // Samsung.
  /\bSM-[TXP]\d{3}|\bGT-P\d{4}|\bGT-N[58]\d{3}|\bN(?:5100|5110|8000|8010)\b|\bSCH-I(?:800|905|915|925)|\bSGH-(?:I467|I497|I957|I987|T849|T859|T869|T779)|\bSHW-M(?:180|380|480|500)|\bSHV-E(?:140|150|230)|\bSC-01[CDE]\b/,
  // Huawei and Honor: -W marks a model without telephony. Others match by code name.
  /\b[A-Za-z]{3,4}\d?-W\d\d|MediaPad|MatePad|\b(?:AGS|AGR|AGM|BAH|BTV|BG2|BZT|BZA|BZK|CMR|CPN|DBY|JDN|JMS|KOB|Kobe|MON|MRX|MRR|PLE|SCM|SCMR|SHT|SSH|VRD|WGR|DBR|BTK)[2-6]?-(?:L|AL|TL|N|U)\d\d|\bHUAWEI ?(?:M2|M3|M5|M6|T1|T3|T5|T8)[ -]|\bT1[ _-](?:701|821|823|A21)/,
  // Lenovo, Acer, Asus, LG, Sony.
  /\bTB-?[0-9X]|Lenovo ?(?:TAB|YT|YOGA|IdeaTab|B[68]\d{3}|TB)|IdeaTab|IdeaPadA|\bYT\d?-[X\d]|\bYOGA Tab/i,
  /Iconia|\bA[13]-[A-Z]?\d{2,3}\b|\bB[13]-[A-Z]?\d{2,3}\b|Transformer|EeePad|\bTF\d{3}[A-Z]*\b|\bME(?:17|18|30|37|57|58)\d\w*\b|\bASUS_?P(?:00|01|02)\w\b|\bK01[0-9A-Z]\b|\bP(?:00|01|02)[0-9A-Z]\b(?= Build)|\bZenPad/,
  /\bLG-V(?:[459]|[KTPH])\w+|\bLG-V700|\bLG-VK\d{3}|\bLG-UK\d{3}|\bLG-P530|\bLM-T\d{3}|\bSGPT?\d{2,3}\b|\bSony Tablet|\bXperia (?:Z\d? ?)?Tablet|\bSO-(?:03E|05F|05G)\b|\bSOT\d\d\b/,
  // Xiaomi, Oppo, OnePlus, Realme, Vivo, TCL and Alcatel, Nokia, Tecno.
  /\b(?:Mi|Redmi|Xiaomi|POCO) ?Pad|\bMIPAD|\b(?:21051182[CG]|22081283[CG]|23043RP34[CGI]|2\d{4}RP[A-Z0-9]{3,5}|2405CRPBDG|2406ERN9CC)\b|\bOPD\d{4}|\bRMP\d{4}|\bPA2\d{3}\b|^(?:80[789]\d|9[012]\d\d)[A-Z]\d?(?![A-Za-z0-9])|\bNokia T\d\d\b|\bTECNO ?(?:P[79]0\d)|DroiPad/,
]

/** A model name with Tab or Pad, with or without a number. */
const pattern =
  /(?:TAB|Tab|PAD|Pad)(?:[-_ ]?(?:\d|Pro|Plus|Ultra|Mini|Lite|HD|Kids?|Go|Air|Max|LTE|WiFi|Wi-Fi|[A-Z]\d)|_|$|[ ](?!fone))|\b(?:kid|lif)e?s?tab|\btab[ _-]?\d|\bpad[ _-]?\d/

const numbered = [
  // A letter or two and the diagonal in tenths of an inch (BQ-7081, TT7025MG, CRONY-8015), or with a leading zero (LC0901D).
  /^BQ[a-z]*-?(?:[789]|1[01])\d{2,3}/i,
  /(?<![A-Za-z0-9])(?:[A-Z]{2}(?:[789]\d{3}|1[0-2]\d{2})[A-Z]{2}|[A-Z]{2,3}(?:07|08|09|10)\d\d[A-Z]\d{0,2})(?![A-Za-z0-9])|_C(?:07|08|10)\d{4}/,
  // "Mobile internet device", or the diagonal next to the network type.
  /\bMID[-_ ]?\d|[-_ ](?:7|8|9|10)[-_ ]?(?:3G|4G|LTE)\b|3G.*QUAD/i,
  // Models with a letter, a number and a region suffix.
  /^(?:T|M|P|K|N|iPlay_?)\d{2,3}(?:HD|Pro|Plus|S|T|Air|SE|Max)?[-_](?:EEA|ROW|US)|^iPlay_?\d/,
  // Models of smaller makers.
  /\bArchos ?(?:[789]\d|1[01]\d|Gen)|\bTM-(?:[79]\d{3}|8\d{3}|MID)|\bPM[PT]\d{4}|\bNEXTBOOK|\bNXM\d|\bRCT\d{4}|\bRMD-\d{3,4}|\bBRW-|LIFETAB|ViewPad|\bONA\d{2}TB|\bTBLT\d|\b100\d{6}$|\bSURFpad/i,
  /\b(?:Darwin|FAUST|KANT|VOLTA)\d|iBall[ _]Slide|\bTZ\d{3}\b|\bOptima \d|\bCITI[ _]\d{4}|\bGinzzu GT-[789]|\bTOREX\d|Readboy|\bNUMY|\biPA2\d/i,
]

function isTablet(agent: string, model: string): boolean {
  if (/iPhone|iPod|Windows Phone|Windows NT|CrOS|Macintosh/.test(agent)) return false
  if (saidTablet.test(agent) || series.some((name) => name.test(model || agent))) return true
  return model !== "" && !/\bPadfone/i.test(model) && (pattern.test(model) || numbered.some((name) => name.test(model)))
}

// Televisions, set-top boxes, sticks, consoles, watches, headsets and speakers. The specification has no device type for them.
// Most have explicit tokens; others match by model name.

const saidTelevision = anyOf(`
  smarttv smart-tv smart_tv AppleTV Google_TV GoogleTV AndroidTV Android_TV HbbTV CE-HTML NetCast NetTV NETTV InettvBrowser OperaTV OMI/
  webOS.TV Web0S Viera AQUOSBrowser BRAVIA PhilipsTV SonyDTV SonyCEBrowser VIDAA MiTV MiBOX CrKey Chromecast Roku POV_TV TV_Store
  Nexus_Player SHIELD_Android KreaTV Espial Maple_2 Maple_5 Maple_6 Maple2 SkyQ Freebox Xfinity STB- set-top DLNADOC
  PlayStation Nintendo Xbox PSP_( OUYA Retroid
  Apple_Watch AppleWatch watchOS Wear_OS Gear_S TicWatch Galaxy_Watch OculusBrowser PicoBrowser Quest;
  Sonos HomePod AudioAccessory Google_Home Nest_Hub Tesla/ QtCarBrowser
`)

/** `TV` as a separate word in capitals; few phones have it in their names. */
const word = /(?:^|[^A-Za-z])(?:G?TV(?![A-Za-z])|DTV(?![A-Za-z])(?!.*Mobile)|STB\b|OTT\b)/

const marks = [
  // Fire TV (AFTN, AFTKA), MAG boxes, and Samsung watches, Glass and Quest by number.
  /\bADT-\d|\bAFT[A-Z][A-Z0-9]{0,8}\b|\bMAG ?\d{3}|\bSM-R\d{3}|\bGlass \d|\bQuest(?: \d| Pro)?;/,
  // Builds released only by makers of televisions.
  /Build\/(?:[P-V]T[A-Z0-9]{1,2}\.|PPR2\.180905\.006\.A1)/,
]

/** Android model names of televisions: diagonal in inches and series (43UK6300, 32LEX-7166), panel type, or box. */
const models = [
  /^(?:[A-Z]|[A-Z]{1,6}[-_ ])?(?:19|2[248]|32|39|4[02389]|50|5[058]|6[05]|7[05]|77|8[0256]|98)(?!\d)[A-Z]{1,5}[-_]?\d/i,
  /LED[-_]?\d\d|[OQ]LED|(?:^|[^A-Z])U?HD[-_ ]?TV|[-_ ]UHD\b|TV$|TDTV\d|\bLE-?\d\d[A-Z]|(?<![A-Z0-9]{3})4K(?![A-Z])/i,
  /(?<![a-z])shell(?![a-z])|(?<!tur|run)box(?![a-z])|Dongle|(?<![a-z])Stick(?![a-z])|\bIPTV|\bDVB\b/i,
  /^(?:A95X|H96|X96|X88|X92|X98|T95|HK1(?!\d)|MXQ|TX[2-9](?:[ _]|$|mini|pro)|M8S|NEO-[UX]\d|TOX\d|Beelink|MINIX|GT-?King|UGOOS|ZIDOO|VONTAR|Transpeed|Formuler|Mecool|Magicsee|Tanix|NEXON|iconBIT|Rombica|Dune)/i,
]

function isNoneOfThem(agent: string, model: string): boolean {
  return (
    saidTelevision.test(agent) ||
    word.test(agent) ||
    marks.some((mark) => mark.test(agent)) ||
    (model !== "" && models.some((name) => name.test(model)))
  )
}
