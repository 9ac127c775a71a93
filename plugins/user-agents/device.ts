// The kind of device a User-Agent says it is: `mobile`, `tablet`, `desktop`, or "" for televisions, consoles, watches and
// what gives no sign.
import { isTablet } from "./tablets.ts"
import { isNoneOfThem } from "./televisions.ts"

/** Laptops that run Android, as Chromebooks do for its apps. */
const laptops =
  /Chromebook|Pixelbook|\b(?:Inspiron|Latitude|Vostro|TravelMate|Satellite|EliteBook|ProBook|ThinkPad|LIFEBOOK|Aspire)\b|\((?:PC|2in1); ?OpenHarmony/i

/** What says plainly that it is a phone, and phones of before Android and iPhone. */
const phones =
  /iPhone|iPod|dv\(iPh|\bPhone\b|Windows ?Phone|WPDesktop|\bWP7|XBLWP|IEMobile|Windows CE|Pocket ?PC|BlackBerry|\bBB10\b|\bRIM\d{3}|Opera Mini|Opera Mobi|\bOPiOS\/|Puffin\/[\d.]+(?:AP|IP|WP)\b|\bwebOS\/|\bPre\/\d|\bPixi\/|\bPalm(?:OS|Source|scape)?\b|Symb(?:ian|OS)|Series ?[3468]0|\bS60\b|\bKAIOS\b|\bMIDP|\bCLDC|UCWEB|U2\/1|\bJ2ME|J2ME\/|Nokia|SonyEricsson|\bSonyE|\bSAMSUNG-|\bSEC-S[GC]H|\bSGH-|\bSAGEM|\bLG-[A-Z]{1,3}\d|\bLGE?[-/]|\bMOT-|\bMotorola[-_]|\bZTE-|\bHUAWEI-|\bALCATEL[-_]|\bHTC[-_ /]|\bT-Mobile|\bDoCoMo|\bFOMA\b|jig browser|\bKDDI-|\bSoftBank\/|\bVodafone\/|\bJ-PHONE|\bemobile\/|\bWILLCOM|UP\.(?:Browser|Link)|\bWAP[- ]?(?:1\.|Browser)|\bObigo|\bTeleca|\bPolaris\/|\bMAUI|\bBREW|\bBada\b|\bMeeGo\b|\bMaemo\b|\bSailfish(?!.*Windows)|\bFennec\/|\bFirefox OS|\bLumia\b|\bSkyfire|\bDolfin|\bJasmine\/|\bMTK\b|\bMicromax|\bLava[- ]|\bKarbonn|\bGIONEE|\bTIANYU|\bLENOVO-|\bFLY-|\bPANTECH|\bHelio|\bDanger hiptop|\bsidekick|\bKyocera|\bKONKA|\bPhilips ?X|\bPhilips[A-Z@]?\d|\bSpreadtrum|\bOppo|\bandroidphone\b/i

const saysMobile = /\bMobi\b|\bMobile(?:Safari)?\b|\bmobile safari\b/

/** Phones of the large makers, for browsers that leave `Mobile` out on the wide screen of one that unfolds. */
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

/** A tablet's browser leaves `Mobile` out; an app, an agent that was cut short and a system of phones only say nothing by that. */
function saysNoMobile(agent: string): boolean {
  const browser = /AppleWebKit\/.*(?:Safari|OPR|Firefox)|Gecko\/|\bOpera\b.*Tablet/i.test(agent)
  return browser && !/\bAndroid [12]\./.test(agent)
}

const androidName =
  /\bAndroid[ /]?[\d.]*[;,]?\s*(?:[A-Za-z]{2}[-_](?:[A-Za-z]{4}[-_])?[A-Za-z]{2,3}\s*;\s*|HarmonyOS;\s*)?([^;()]{2,80}?)\s*(?:\bBuild\b|[;()]|AppleWebKit|$)/i

/** The name of an Android device: after the version (and a language, in old ones), before the build. "" where it gives none. */
function androidModel(agent: string): string {
  return androidName.exec(agent)?.[1] ?? ""
}
