// Generated from message.mjml by build.ts; edit that and run it again.

export const parts = {
  page: `<!doctype html>
<html lang="und" dir="auto" xmlns="http://www.w3.org/1999/xhtml" xmlns:v="urn:schemas-microsoft-com:vml" xmlns:o="urn:schemas-microsoft-com:office:office">
<head>
<title>%%title%%</title>
<!--[if !mso]><!-->
<meta http-equiv="X-UA-Compatible" content="IE=edge">
<!--<![endif]-->
<meta http-equiv="Content-Type" content="text/html; charset=UTF-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style type="text/css">
#outlook a { padding:0; }
body { margin:0;padding:0;-webkit-text-size-adjust:100%;-ms-text-size-adjust:100%; }
table, td { border-collapse:collapse;mso-table-lspace:0pt;mso-table-rspace:0pt; }
img { border:0;height:auto;line-height:100%; outline:none;text-decoration:none;-ms-interpolation-mode:bicubic; }
p { display:block;margin:13px 0; }
</style>
<!--[if mso]>
<noscript>
<xml>
<o:OfficeDocumentSettings>
<o:AllowPNG/>
<o:PixelsPerInch>96</o:PixelsPerInch>
</o:OfficeDocumentSettings>
</xml>
</noscript>
<![endif]-->
<!--[if lte mso 11]>
<style type="text/css">
.mj-outlook-group-fix { width:100% !important; }
</style>
<![endif]-->
<style type="text/css">
@media only screen and (min-width:480px) {
.mj-column-per-100 { width:100% !important; max-width: 100%; }
}
</style>
<style media="screen and (min-width:480px)">
.moz-text-html .mj-column-per-100 { width:100% !important; max-width: 100%; }
</style>
<style type="text/css">
:root { color-scheme: light dark; supported-color-schemes: light dark; }
a { color: #2f5bd7; }
.field th, .field td { overflow-wrap: anywhere; }
@media (max-width: 480px) { .field th, .field td { display: block !important; width: auto !important; } .field .value { padding-top: 0 !important; } .field .label { border-bottom: 0 !important; padding-bottom: 2px !important; } }
@media (prefers-color-scheme: dark) {
body, body > div { background-color: #15171b !important; }
.card > table > tbody > tr > td { background-color: #1f2227 !important; border-color: #31353c !important; }
.heading div { color: #f3f4f6 !important; }
.intro div, .field .value { color: #d5d8de !important; }
.field .label, .foot div { color: #9ca1ab !important; }
.field th, .field td { border-color: #31353c !important; }
a { color: #8fb0ff !important; }
.button a, .button td { background-color: #8fb0ff !important; color: #14161a !important; }
}
</style>
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<meta name="format-detection" content="telephone=no">
</head>
<body  style="word-spacing:normal;background-color:#f3f4f6;">
<div style="display:none;font-size:1px;color:#ffffff;line-height:1px;max-height:0px;max-width:0px;opacity:0;overflow:hidden;">%%preview%%</div>
<div
aria-label="%%title%%" aria-roledescription="email" role="article" lang="und" dir="auto" style="word-spacing:normal;background-color:#f3f4f6;"
>
<!--[if mso | IE]><table align="center" border="0" cellpadding="0" cellspacing="0" class="" role="presentation" style="width:600px;" width="600" ><tr><td style="line-height:0px;font-size:0px;mso-line-height-rule:exactly;"><![endif]-->
<div  style="margin:0px auto;max-width:600px;">
<table
align="center" border="0" cellpadding="0" cellspacing="0" role="presentation" style="width:100%;"
>
<tbody>
<tr>
<td
style="direction:ltr;font-size:0px;padding:32px 12px 0;text-align:center;"
>
<!--[if mso | IE]><table role="presentation" border="0" cellpadding="0" cellspacing="0"><tr><td class="card-outlook" style="vertical-align:top;width:576px;" ><![endif]-->
<div
class="mj-column-per-100 mj-outlook-group-fix card" style="font-size:0px;text-align:left;direction:ltr;display:inline-block;vertical-align:top;width:100%;"
>
<table
border="0" cellpadding="0" cellspacing="0" role="presentation" width="100%" style="border-collapse:separate;"
>
<tbody>
<tr>
<td  style="background-color:#ffffff;border:1px solid #e4e6ea;border-radius:12px;vertical-align:top;border-collapse:separate;padding:32px 28px;">
<table
border="0" cellpadding="0" cellspacing="0" role="presentation" style="" width="100%"
>
<tbody>
<tr>
<td
align="left" class="heading" style="font-size:0px;padding:0;word-break:break-word;"
>
<div
style="font-family:-apple-system, BlinkMacSystemFont, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif;font-size:22px;font-weight:650;line-height:1.35;text-align:left;color:#14161a;"
>%%heading%%</div>
</td>
</tr>
%%intro_part%%%%fields_part%%%%button_part%%
</tbody>
</table>
</td>
</tr>
</tbody>
</table>
</div>
<!--[if mso | IE]></td></tr></table><![endif]-->
</td>
</tr>
</tbody>
</table>
</div>
<!--[if mso | IE]></td></tr></table><table align="center" border="0" cellpadding="0" cellspacing="0" class="" role="presentation" style="width:600px;" width="600" ><tr><td style="line-height:0px;font-size:0px;mso-line-height-rule:exactly;"><![endif]-->
<div  style="margin:0px auto;max-width:600px;">
<table
align="center" border="0" cellpadding="0" cellspacing="0" role="presentation" style="width:100%;"
>
<tbody>
<tr>
<td
style="direction:ltr;font-size:0px;padding:16px 12px 32px;text-align:center;"
>
<!--[if mso | IE]><table role="presentation" border="0" cellpadding="0" cellspacing="0"><tr><td class="" style="vertical-align:top;width:576px;" ><![endif]-->
<div
class="mj-column-per-100 mj-outlook-group-fix" style="font-size:0px;text-align:left;direction:ltr;display:inline-block;vertical-align:top;width:100%;"
>
<table
border="0" cellpadding="0" cellspacing="0" role="presentation" style="vertical-align:top;" width="100%"
>
<tbody>
<tr>
<td
align="center" class="foot" style="font-size:0px;padding:0;word-break:break-word;"
>
<div
style="font-family:-apple-system, BlinkMacSystemFont, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif;font-size:13px;line-height:1.6;text-align:center;color:#858b96;"
>%%footer%%</div>
</td>
</tr>
</tbody>
</table>
</div>
<!--[if mso | IE]></td></tr></table><![endif]-->
</td>
</tr>
</tbody>
</table>
</div>
<!--[if mso | IE]></td></tr></table><![endif]-->
</div>
</body>
</html>`,
  intro: `<tr>
<td
align="left" class="intro" style="font-size:0px;padding:14px 0 0;word-break:break-word;"
>
<div
style="font-family:-apple-system, BlinkMacSystemFont, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif;font-size:16px;line-height:1.6;text-align:left;color:#3c4149;"
>%%intro%%</div>
</td>
</tr>`,
  field: `<tr class="field">
<th scope="row" class="label" align="left" valign="top" style="width:34%;padding:11px 16px 11px 0;border-bottom:1px solid #eceef1;color:#6b717c;font-weight:500;">%%label%%</th>
<td class="value" align="left" valign="top" style="padding:11px 0;border-bottom:1px solid #eceef1;color:#22262c;word-break:break-word;">%%value%%</td>
</tr>`,
  fields: `<tr>
<td
align="left" style="font-size:0px;padding:20px 0 0;word-break:break-word;"
>
<table
cellpadding="0" cellspacing="0" width="100%" border="0" style="color:#000000;font-family:-apple-system, BlinkMacSystemFont, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif;font-size:15px;line-height:1.5;table-layout:auto;width:100%;border:none;"
>
%%field_part%%
</table>
</td>
</tr>`,
  button: `<tr>
<td
align="left" class="button" style="font-size:0px;padding:26px 0 0;word-break:break-word;"
>
<table
border="0" cellpadding="0" cellspacing="0" role="presentation" style="border-collapse:separate;line-height:100%;"
>
<tbody>
<tr>
<td
align="center" bgcolor="#2f5bd7" role="presentation" style="border:none;border-radius:8px;cursor:auto;mso-padding-alt:13px 22px;background:#2f5bd7;" valign="middle"
>
<a
href="%%url%%" style="display:inline-block;background:#2f5bd7;color:#ffffff;font-family:-apple-system, BlinkMacSystemFont, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif;font-size:15px;font-weight:600;line-height:120%;margin:0;text-decoration:none;text-transform:none;padding:13px 22px;mso-padding-alt:0px;border-radius:8px;" target="_blank"
>
%%button_label%%
</a>
</td>
</tr>
</tbody>
</table>
</td>
</tr>`,
} as const
