// The kind of device a User-Agent says it is: `mobile`, `tablet`, `desktop`, or "" for televisions, consoles, watches and
// what gives no sign. Models are named only where the agent's general marks would mislead.

const televisions =
  /smart-?_?tv|SMART-TV|\bApple ?TV|Google ?TV|BRAVIA|HbbTV|NetCast|NETTV|NetTV|Web0S|webOS\.TV|\bTV Store|Tizen.*\bTV\b|\bTV; |\bAFT[A-Z0-9]{1,6}\b|\bCrKey\b|\bRoku\b|Android ?TV|\bMi ?TV|MiTV|MIBOX|MiBOX|\bDTV\b|\bDTV\d|Opera TV|\bOMI\/|Viera|AQUOS ?TV|\bAQUOSBrowser|InettvBrowser|POV_TV|\bTV[ _-]?Box|\bSTB\b|set-?top|Hisense.*TV|VIDAA|\bPhilipsTV|SonyCEBrowser|SonyDTV|\bCE-HTML|LG ?SmartTV|LGE;.*TV|\bTCL.*TV|Chromecast|\bNexus Player|SHIELD Android|\bADT-\d|\bMAG\d{3}|\bKreaTV|\bEspial|\bMaple\b|\bSkyQ|\bFreebox|\bXfinity|\bBRAVIA|\bUHD\b.*TV|\bSTV-|\bOTT\b|\bdtv\b|\b(?:4K|FHD|HD)[ _]?TV|\bTV\d{2,}|\bGTV\b|\bA95X|\bH96|\bX96|\bT95|\bMXQ|\bTX3|\bTX6|\bBeelink|\bMinix NEO/i
const consoles = /PlayStation|PLAYSTATION|Nintendo|\bXbox\b|\bXBOX|\bPSP\b|\bOUYA\b/i
const wearables =
  /\bApple ?Watch\b|\bWatch ?OS\b|\bSM-R\d{3}|\bWear ?OS\b|\bGear S\b|\bGlass \d|\bQuest(?: \d| Pro)?;|OculusBrowser(?!.*Mobile VR)/i

/** Tablets, whatever else the agent says: the common makers' models, and names with Tab or Pad in them. */
const tabletModels =
  /\bTablet\b(?! PC)|\bTABLET\b|FBID\/tablet|\bapad\b|\btablet[;/]|PlayBook|\bKindle\b(?! Fire Phone)|\bKF[A-Z]{2,6}\b|\bSilk\/(?!.*Mobile)|\bSM-[TXP]\d{3}|\bGT-[PN]\d{4}|\bGT-N(?:5|8)\d{3}|\bN(?:5100|5110|8000|8010)\b|\bSCH-I(?:800|905|915|925)|\bSGH-(?:I467|I497|I957|I987|T849|T859|T869|T779)|\bSHW-M(?:180|380|480|500)|\bSHV-E(?:140|150|230)|\bSC-01[CDE]\b|\bNexus ?(?:7|9|10)\b|\bPixel (?:C|Tablet)\b|\bXoom\b|MediaPad|MatePad|\b(?:AGS|AGR|AGM|BAH|BTV|BG2|BZT|BZA|BZK|CMR|CPN|DBY|FRL|JDN|KOB|MON|MRX|MRR|PLE|SCM|SCMR|SHT|SSH|VRD|WGR|DBR|BTK)[2-6]?-(?:W|L|AL|TL|N|U)\d\d|\bHUAWEI ?(?:M2|M3|M5|M6|T1|T3|T5|T8)[ -]|\bT1[ _-](?:701|821|823|A21)|\bTB-?[0-9X]\d*\w+|\bTB\d{3}[A-Z]{2}|Lenovo ?(?:TAB|Tab|YT|YOGA|IdeaTab|B[68]\d{3}|TB)|IdeaTab|IdeaPadA|\bYT\d?-[X\d]|\bYOGA Tab|\bMi ?Pad|\bMIPAD|Redmi Pad|\bXiaomi ?Pad|\bPOCO Pad|\b(?:21051182[CG]|22081283[CG]|23043RP34[CGI]|2307[35]RPB[A-Z]{2}|2405CRPBDG|24074RPD2[CGI]|2406ERN9CC)\b|\bOPD\d{4}|\bOPD2\d[A-Z0-9]+|OnePlus Pad|\brealme Pad|\bRMP\d{4}|\bvivo Pad|\bPA2[1-5]7\d\b|\bHONOR Pad|Transformer|\bEeePad|\bTF\d{3}[A-Z]*\b|\bME(?:17|18|30|37|57|58)\d\w*\b|\bASUS_?P(?:00|01|02)\w\b|\bK0(?:0[0-9A-Z]|1[0-9A-Z])\b|\bP(?:00|01|02)[0-9A-Z]\b(?= Build)|\bZenPad|Iconia|\bA[13]-[A-Z]?\d{2,3}\b|\bB[13]-[A-Z]?\d{2,3}\b|\bVenue ?(?:7|8|10)|\bStreak (?:7|10)|TouchPad|Touchpad|hp-tablet|\bhpwOS|\bSlate ?(?:7|8|10|17|21)|\bNook\b|\bBNTV|\bBNRV|\bBN NookHD|\bLG-V(?:4|5|9|K|T|P|H)\w+|\bLG-VK\d{3}|\bLG-UK\d{3}|\bG ?Pad\b|\bLM-T\d{3}|\bSGPT?\d{2,3}\b|\bSony Tablet|\bXperia (?:Z\d? ?)?Tablet|\bSO-0[35][DEFG]\b|\bSOT\d\d\b|\bArchos ?(?:\d{2,3}|Gen)|\bARCHOS ?\d{2,3}|LIFETAB|\bPMP\d{4}|\bPMT\d{4}|\bTegra ?Note|SHIELD Tablet|\bNEXTBOOK|\bRCT\d{4}|\bTM-\d{4}|\bRMD-\d{3,4}|\bBRW-|ViewPad|\bTECNO ?(?:P704|P904|DroiPad)|DroiPad|MegaPad|\bInfinix XPad|\bX1101B?\b(?= Build)|KidPad|\biPlay_?\d|\b(?:P80|P10|P20|P25|P30|P40|M40|T30|T40|T50|T60|M50)(?:HD|Pro|Plus|S|T|Air|SE)?_(?:EEA|ROW|US)|\b100\d{6}\b(?= Build)|\bONA\d{2}TB|\bTBLT\d|(?<![A-Za-z])(?:[A-Za-z]{0,10}[ _-]?)(?:TAB|Tab|PAD|Pad)(?:[-_ ]?(?:\d|Pro|Plus|Ultra|Mini|Lite|HD|Kids?|Go|Air|Max|LTE|WiFi|Wi-Fi|[A-Z]\d)|[;) ](?!fone))/

/** Phones of before Android and iPhone, and what says plainly that it is one. */
const phones =
  /iPhone|iPod|\bPhone\b|\bFB4A\b|\bMobi(?:le)?\b|\bMobile\/|Windows ?Phone|\bWP7|IEMobile|Windows CE|Pocket ?PC|BlackBerry|\bBB10\b|\bRIM\d{3}|Opera Mini|Opera Mobi|\bOPiOS\/|\bwebOS\/|\bPre\/\d|\bPixi\/|\bPalm(?:OS|Source)?\b|Symb(?:ian|OS)|Series ?[3468]0|\bS60\b|\bKAIOS\b|\bMIDP|\bCLDC|UCWEB|U2\/1|\bJ2ME|J2ME\/|Nokia|SonyEricsson|\bSonyE|\bSAMSUNG-|\bSEC-S[GC]H|\bSGH-|\bSAGEM|\bLG-[A-Z]{1,3}\d|\bLGE?[-/]|\bMOT-|\bMotorola[-_]|\bZTE-|\bHUAWEI-|\bALCATEL[-_]|\bAlcatel-|\bHTC[-_ /]|\bT-Mobile|\bDoCoMo|\bKDDI-|\bSoftBank\/|\bVodafone\/|\bJ-PHONE|\bWILLCOM|UP\.(?:Browser|Link)|\bObigo|\bTeleca|\bNetFront\/\d.*(?:MIDP|Profile)|\bPolaris\/|\bMAUI|\bBREW|\bBada\b|\bMeeGo\b|\bMaemo\b|\bSailfish|\bFennec\/|\bFirefox OS|\bLumia\b|\bSkyfire|\bDolfin|\bJasmine\/|\bMTK\b|\bMicromax|\bLava[- ]|\bKarbonn|\bGIONEE|\bTIANYU|\bLENOVO-|\bFLY-|\bPANTECH|\bHelio|\bDanger hiptop|\bsidekick|\bKyocera|\bKONKA|\bPhilips ?X|\bPhilips[A-Z@]?\d|\bSpreadtrum|\bOppo|\bInstagram \d.*Android|\bandroidphone\b/i

const desktops =
  /Windows(?: NT| 9\d| 2000| XP| Me| Server| 1[01])|\bWin(?:9[58]|NT|32|64|dows)\b|Macintosh|Mac OS X|Mac_PowerPC|\bPPC Mac|\bmacOS\b|\bX11\b|\bCrOS\b|\bLinux\b|\bUbuntu\b|\bFreeBSD|\bOpenBSD|\bNetBSD|\bDragonFly|\bSunOS|\bHP-UX|\bAIX\b|\bIRIX|\bOS\/2\b|\bHaiku|\bBeOS|\bAmigaOS|\bAROS\b|\bDarwin\/\d+.*x86_64|\bFuchsia\b|\bGoogleEarth\/.*(?:Windows|Mac)/i

/** Android that does not say Mobile: a tablet's browser, or an app, which may as well run on a phone. */
const androidBrowser = /AppleWebKit\/|Gecko\/|\bOpera\b.*Tablet/

export function deviceOf(agent: string): string {
  if (televisions.test(agent) || consoles.test(agent) || wearables.test(agent)) return ""
  if (/iPad/.test(agent)) return "tablet"
  if (tabletModels.test(agent) && !/iPhone|iPod|Windows Phone|Windows NT|CrOS|Macintosh/.test(agent)) return "tablet"
  if (phones.test(agent)) return "mobile"
  if (/\bAndroid\b|\bAdr \d/i.test(agent)) return androidBrowser.test(agent) && !/\bAndroid [12]\./.test(agent) ? "tablet" : "mobile"
  return desktops.test(agent) ? "desktop" : ""
}
