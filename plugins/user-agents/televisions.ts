// Televisions, boxes and sticks beside them, consoles, watches, headsets and speakers: none of the device types that the
// specification names. Most say what they are; the others are known by how their models are named.
import { anyOf } from "./rule.ts"

const saidSo = anyOf(`
  smarttv smart-tv smart_tv AppleTV Google_TV GoogleTV AndroidTV Android_TV HbbTV CE-HTML NetCast NetTV NETTV InettvBrowser OperaTV OMI/
  webOS.TV Web0S Viera AQUOSBrowser BRAVIA PhilipsTV SonyDTV SonyCEBrowser VIDAA MiTV MiBOX CrKey Chromecast Roku POV_TV TV_Store
  Nexus_Player SHIELD_Android KreaTV Espial Maple_2 Maple_5 Maple_6 Maple2 SkyQ Freebox Xfinity STB- set-top DLNADOC
  PlayStation Nintendo Xbox PSP_( OUYA Retroid
  Apple_Watch AppleWatch watchOS Wear_OS Gear_S TicWatch Galaxy_Watch OculusBrowser PicoBrowser Quest;
  Sonos HomePod AudioAccessory Google_Home Nest_Hub Tesla/ QtCarBrowser
`)

/** `TV` as a word of its own, in capitals; few phones have it in their names. */
const word = /(?:^|[^A-Za-z])(?:G?TV(?![A-Za-z])|DTV(?![A-Za-z])(?!.*Mobile)|STB\b|OTT\b)/

const marks = [
  // Fire TV (AFTN, AFTKA), MAG boxes, Samsung's watches, Glass and Quest by number.
  /\bADT-\d|\bAFT[A-Z][A-Z0-9]{0,8}\b|\bMAG ?\d{3}|\bSM-R\d{3}|\bGlass \d|\bQuest(?: \d| Pro)?;/,
  // Builds that only televisions' makers give out.
  /Build\/(?:[P-V]T[A-Z0-9]{1,2}\.|PPR2\.180905\.006\.A1)/,
]

/** By an Android device's name: the diagonal in inches and the series (43UK6300, 32LEX-7166), the panel, or the box. */
const models = [
  /^(?:[A-Z]|[A-Z]{1,6}[-_ ])?(?:19|2[248]|32|39|4[02389]|50|5[058]|6[05]|7[05]|77|8[0256]|98)(?!\d)[A-Z]{1,5}[-_]?\d/i,
  /LED[-_]?\d\d|[OQ]LED|(?:^|[^A-Z])U?HD[-_ ]?TV|[-_ ]UHD\b|TV$|TDTV\d|\bLE-?\d\d[A-Z]|(?<![A-Z0-9]{3})4K(?![A-Z])/i,
  /(?<![a-z])shell(?![a-z])|(?<!tur|run)box(?![a-z])|Dongle|(?<![a-z])Stick(?![a-z])|\bIPTV|\bDVB\b/i,
  /^(?:A95X|H96|X96|X88|X92|X98|T95|HK1(?!\d)|MXQ|TX[2-9](?:[ _]|$|mini|pro)|M8S|NEO-[UX]\d|TOX\d|Beelink|MINIX|GT-?King|UGOOS|ZIDOO|VONTAR|Transpeed|Formuler|Mecool|Magicsee|Tanix|NEXON|iconBIT|Rombica|Dune)/i,
]

export function isNoneOfThem(agent: string, model: string): boolean {
  return (
    saidSo.test(agent) ||
    word.test(agent) ||
    marks.some((mark) => mark.test(agent)) ||
    (model !== "" && models.some((name) => name.test(model)))
  )
}
