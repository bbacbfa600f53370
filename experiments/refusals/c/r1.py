from lib import *
# ============ CHALLENGE ============
def cf_new(lang,title,h,noscript,u,footer,msg):
    r=ray()
    return f'''<!DOCTYPE html><html lang="{lang}"><head><title>{title}</title><meta http-equiv="Content-Type" content="text/html; charset=UTF-8"><meta http-equiv="X-UA-Compatible" content="IE=Edge"><meta name="robots" content="noindex,nofollow"><meta name="viewport" content="width=device-width,initial-scale=1"><style>*{{box-sizing:border-box;margin:0;padding:0}}html{{line-height:1.15;-webkit-text-size-adjust:100%;color:#313131;font-family:system-ui,-apple-system,BlinkMacSystemFont,Segoe UI,Roboto,Helvetica Neue,Arial,Noto Sans,sans-serif}}body{{display:flex;flex-direction:column;height:100vh;min-height:100vh}}.main-content{{margin:8rem auto;max-width:60rem;padding-left:1.5rem}}@media (width <= 720px){{.main-content{{margin-top:4rem}}}}.h2{{font-size:1.5rem;font-weight:500;line-height:2.25rem}}#challenge-error-text{{background-repeat:no-repeat;background-size:contain;padding-left:34px}}</style>{msg}</head><body class="no-js"><div class="main-wrapper" role="main"><div class="main-content"><noscript><div class="h2"><span id="challenge-error-text">{noscript}</span></div></noscript>{h}</div></div>{footer}<script>(function(){{window._cf_chl_opt = {{cvId: '3',cZone: '{host(u)}',cType: 'managed',cRay: '{r}',cH: '{b64(43)}-{dg(10)}-1.2.1.1-{b64(40)}',cUPMDTk:"\\/{u.split('/',3)[-1]}?__cf_chl_tk={b64(43)}",cFPWv: 'b',cITimeS: '{dg(10)}',cTplC:1,cTplV:5,cTplB: 'cf',fa:"\\/?__cf_chl_f_tk={b64(43)}",md: "{b64(400)}"}};var a = document.createElement('script');a.src = '/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1?ray={r}';window._cf_chl_opt.cOgUHash = location.hash === '' && location.href.indexOf('#') !== -1 ? '#' : location.hash;document.getElementsByTagName('head')[0].appendChild(a);}}());</script></body></html>'''
u='https://www.aeroparts-forum.com/threads/landing-gear.2231/'
R('challenge','cloudflare-managed','en',403,u,cf_new('en-US','Just a moment...','','Enable JavaScript and cookies to continue',u,'','<meta http-equiv="refresh" content="390">'),dict(CFH(),**{'cf-mitigated':'challenge'}),0.4)
u='https://codequestions.dev/q/10233/how-to-merge'
R('challenge','cloudflare-managed','en',403,u,cf_new('en-US','Just a moment...','<h1 class="zone-name-title h1">codequestions.dev</h1><h2 class="h2" id="challenge-running">Verifying you are human. This may take a few seconds.</h2><div id="challenge-stage"></div><div id="challenge-body-text" class="core-msg spacer">codequestions.dev needs to review the security of your connection before proceeding.</div>','Enable JavaScript and cookies to continue',u,f'<div class="footer" role="contentinfo"><div class="footer-inner"><div class="clearfix diagnostic-wrapper"><div class="ray-id">Ray ID: <code>{ray()}</code></div></div><div class="text-center" id="footer-text">Performance &amp; security by <a rel="noopener noreferrer" href="https://www.cloudflare.com?utm_source=challenge" target="_blank">Cloudflare</a></div></div></div>',''),CFH(),0.5)
u='https://www.teichfreunde.net/viewtopic.php?t=9921'
R('challenge','cloudflare-managed-de','de',403,u,cf_new('de-DE','Nur einen Moment…','<h1 class="zone-name-title h1"><img src="/favicon.ico" class="heading-favicon" alt="Symbol für www.teichfreunde.net">www.teichfreunde.net</h1><p id="cf-spinner-please-wait">Es wird überprüft, ob die Verbindung zur Website sicher ist</p><div id="challenge-body-text">www.teichfreunde.net muss die Sicherheit Ihrer Verbindung überprüfen, bevor Sie fortfahren können.</div>','Aktivieren Sie JavaScript und Cookies, um fortzufahren',u,f'<div class="footer" role="contentinfo"><div class="ray-id">Ray-ID: <code>{ray()}</code></div><div class="text-center">Leistung und Sicherheit durch <a href="https://www.cloudflare.com">Cloudflare</a></div></div>',''),CFH(),0.6)
u='https://annonces-bateaux.fr/voilier/first-31-7'
R('challenge','cloudflare-managed-fr','fr',403,u,cf_new('fr-FR','Un instant…','<h1 class="h1">annonces-bateaux.fr</h1><h2 class="h2">Vérification de sécurité en cours</h2><p>Ce site utilise un service de sécurité pour se protéger contre les bots malveillants. Cette page s’affiche pendant que le site vérifie que vous n’êtes pas un bot.</p>','Activez JavaScript et les cookies pour continuer',u,f'<div class="footer"><div class="ray-id">Ray ID : <code>{ray()}</code></div><div>Performances et sécurité par <a href="https://www.cloudflare.com">Cloudflare</a></div></div>',''),CFH(),0.6)
u='https://mangalectura.example.com.mx/capitulo/212'.replace('example.com.mx','org.mx')
R('challenge','cloudflare-managed-es','es',403,u,cf_new('es-ES','Un momento…','<p>Verificando que usted es un ser humano. Esto puede tardar unos segundos.</p>','Habilite JavaScript y las cookies para continuar',u,'',''),CFH(),0.5)
r=ray()
R('challenge','cloudflare-iuam-classic','en',503,'https://www.modhub-gaming.com/mods/45121',f'''<!DOCTYPE HTML>
<html lang="en-US">
<head>
  <meta charset="UTF-8" />
  <meta http-equiv="Content-Type" content="text/html; charset=UTF-8" />
  <meta http-equiv="X-UA-Compatible" content="IE=Edge,chrome=1" />
  <meta name="robots" content="noindex, nofollow" />
  <meta name="viewport" content="width=device-width, initial-scale=1" />
  <title>Just a moment...</title>
  <style type="text/css">
    html, body {{width: 100%; height: 100%; margin: 0; padding: 0;}}
    body {{background-color: #ffffff; color: #000000; font-family:-apple-system, system-ui, BlinkMacSystemFont, "Segoe UI", Roboto, Oxygen, Ubuntu, "Helvetica Neue",Arial, sans-serif; font-size: 16px; line-height: 1.7em;-webkit-font-smoothing: antialiased;}}
    h1 {{ text-align: center; font-weight:700; margin: 16px 0; font-size: 32px; color:#000000; line-height: 1.25;}}
    .bubbles {{ background-color: #f58220; width:20px; height: 20px; margin:2px; border-radius:100%; display:inline-block; }}
  </style>
    <script type="text/javascript">
  //<![CDATA[
  (function(){{
    window._cf_chl_opt={{ cvId: "1", cType: "non-interactive", cNounce: "{dg(5)}", cRay: "{r}", cHash: "{hx(16)}", cFPWv: "b", cTTimeMs: "4000", cRq: {{ ru: "aHR0cHM6Ly93d3cubW9kaHVi", ra: "TW96aWxsYS81LjA=", rm: "R0VU" }} }};
    window._cf_chl_enter = function(){{window._cf_chl_opt.p=1}};
  }})();
  //]]>
</script>
</head>
<body>
  <table width="100%" height="100%" cellpadding="20">
    <tr>
      <td align="center" valign="middle">
          <div class="cf-browser-verification cf-im-under-attack">
  <noscript>
    <h1 data-translate="turn_on_js" style="color:#bd2426;">Please turn JavaScript on and reload the page.</h1>
  </noscript>
  <div id="cf-content" style="display:none">
    <div id="cf-bubbles"><div class="bubbles"></div><div class="bubbles"></div><div class="bubbles"></div></div>
    <h1><span data-translate="checking_browser">Checking your browser before accessing</span> modhub-gaming.com.</h1>
    <div id="no-cookie-warning" class="cookie-warning" data-translate="turn_on_cookies" style="display:none"><p style="color:#bd2426;">Please enable Cookies and reload the page.</p></div>
    <p data-translate="process_is_automatic">This process is automatic. Your browser will redirect to your requested content shortly.</p>
    <p data-translate="allow_5_secs" id="cf-spinner-allow-5-secs">Please allow up to 5 seconds&hellip;</p>
  </div>
  <form class="challenge-form" id="challenge-form" action="/mods/45121?__cf_chl_jschl_tk__={hx(40)}" method="POST" enctype="application/x-www-form-urlencoded">
    <input type="hidden" name="md" value="{b64(200)}"><input type="hidden" name="r" value="{hx(60)}"><input type="hidden" value="{hx(32)}" id="jschl-vc" name="jschl_vc"/><input type="hidden" name="pass" value="{dg(10)}.{dg(3)}-{b64(10)}"/>
  </form>
</div>
          <div class="attribution">DDoS protection by <a rel="noopener noreferrer" href="https://www.cloudflare.com/5xx-error-landing/" target="_blank">Cloudflare</a><br /><span class="ray_id">Ray ID: <code>{r}</code></span></div>
      </td>
    </tr>
  </table>
</body>
</html>''',CFH(r),0.3)
R('challenge','cloudflare-captcha-classic','en',403,'https://www.cheapflights-compare.net/deals?to=LIS',f'''<!DOCTYPE html>
<!--[if lt IE 7]> <html class="no-js ie6 oldie" lang="en-US"> <![endif]-->
<!--[if gt IE 8]><!--> <html class="no-js" lang="en-US"> <!--<![endif]-->
<head>
<title>Attention Required! | Cloudflare</title>
<meta name="captcha-bypass" id="captcha-bypass" />
<meta charset="UTF-8" /><meta name="robots" content="noindex, nofollow" /><meta name="viewport" content="width=device-width,initial-scale=1" />
<link rel="stylesheet" id="cf_styles-css" href="/cdn-cgi/styles/cf.errors.css" type="text/css" media="screen,projection" />
<style type="text/css">body{{margin:0;padding:0}}</style>
</head>
<body>
  <div id="cf-wrapper">
    <div class="cf-alert cf-alert-error cf-cookie-error" id="cookie-alert" data-translate="enable_cookies">Please enable cookies.</div>
    <div id="cf-error-details" class="cf-error-details-wrapper">
      <div class="cf-wrapper cf-header cf-error-overview">
        <h1 data-translate="challenge_headline">One more step</h1>
        <h2 class="cf-subheadline"><span data-translate="complete_sec_check">Please complete the security check to access</span> www.cheapflights-compare.net</h2>
      </div>
      <div class="cf-section cf-highlight cf-captcha-container"><div class="cf-wrapper"><div class="cf-columns two"><div class="cf-column"><div class="cf-highlight-inverse cf-form-stacked"><form class="challenge-form managed-form" id="challenge-form" action="/deals?to=LIS&amp;__cf_chl_captcha_tk__={hx(40)}" method="POST"><input type="hidden" name="cf_captcha_kind" value="h"><div id="cf-hcaptcha-container"></div><noscript id="cf-captcha-bookmark" class="cf-captcha-info"><h1 style="color:#bd2426;">Please turn JavaScript on and reload the page.</h1></noscript></form></div></div><div class="cf-column"><div class="cf-screenshot-container"><span class="cf-no-screenshot"></span></div></div></div></div></div>
      <div class="cf-section cf-wrapper"><div class="cf-columns two"><div class="cf-column"><h2 data-translate="why_captcha_headline">Why do I have to complete a CAPTCHA?</h2><p data-translate="why_captcha_detail">Completing the CAPTCHA proves you are a human and gives you temporary access to the web property.</p></div><div class="cf-column"><h2 data-translate="resolve_captcha_headline">What can I do to prevent this in the future?</h2><p data-translate="resolve_captcha_antivirus">If you are on a personal connection, like at home, you can run an anti-virus scan on your device to make sure it is not infected with malware.</p><p data-translate="resolve_captcha_network">If you are at an office or shared network, you can ask the network administrator to run a scan across the network looking for misconfigured or infected devices.</p></div></div></div>
      <div class="cf-error-footer cf-wrapper"><p><span class="cf-footer-item">Cloudflare Ray ID: <strong>{ray()}</strong></span><span class="cf-footer-separator">&bull;</span><span class="cf-footer-item"><span>Your IP</span>: {ip()}</span><span class="cf-footer-separator">&bull;</span><span class="cf-footer-item"><span>Performance &amp; security by</span> <a href="https://www.cloudflare.com/5xx-error-landing">Cloudflare</a></span></p></div>
    </div>
  </div>
</body>
</html>''',CFH(),0.4)
R('challenge','perimeterx-human','en',403,'https://www.homeware-depot.com/p/cast-iron-skillet/203',f'''<!DOCTYPE html>
<html lang="en">
<head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="description" content="px-captcha">
    <title>Access to this page has been denied</title>
</head>
<body>
<script>
    window._pxVid = '';
    window._pxUuid = '{uuid()}';
    window._pxAppId = 'PX{b64(8)}';
    window._pxMobile = false;
    window._pxHostUrl = 'https://collector-px{b64(8).lower()}.px-cloud.net';
    window._pxCustomLogo = '';
    window._pxJsClientSrc = '/{b64(8)}/init.js';
    window._pxFirstPartyEnabled = true;
    var script = document.createElement('script');
    script.src = '/{b64(8)}/captcha/captcha.js?a=c&u={uuid()}&v=&m=0';
    document.head.appendChild(script);
    script.onerror = function () {{
        script = document.createElement('script');
        script.src = 'https://captcha.px-cloud.net/PX/captcha.js?a=c';
        document.head.appendChild(script);
    }};
</script>
<noscript><div>Please enable JavaScript to continue.</div></noscript>
</body>
</html>''',{"Content-Type":"text/html"},0.6)
R('challenge','perimeterx-human-classic','en',403,'https://www.shoecloset-outlet.com/womens-boots',f'''<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1.0">
<title>Access to this page has been denied.</title>
<link href="https://fonts.googleapis.com/css?family=Open+Sans:300" rel="stylesheet">
<style>html,body{{margin:0;padding:0;font-family:'Open Sans',sans-serif;color:#000}}a{{color:#c5c5c5;text-decoration:none}}.container{{align-items:center;display:flex;flex:1;justify-content:space-between;flex-direction:column;height:100%}}.content h1{{font-size:30px}}.page-title-wrapper,.page-footer-wrapper{{background-color:#f5f5f5}}</style>
</head>
<body>
<section class="container">
  <div class="customer-logo-wrapper"><img src="/static/logo.png" alt="Logo"/></div>
  <div class="page-title-wrapper"><div class="page-title"><h1>Please verify you are a human</h1></div></div>
  <div class="content-wrapper"><div class="content">
    <div id="px-captcha"></div>
    <p>Access to this page has been denied because we believe you are using automation tools to browse the website.</p>
    <p>This may happen as a result of the following:</p>
    <ul><li>Javascript is disabled or blocked by an extension (ad blockers for example)</li><li>Your browser does not support cookies</li></ul>
    <p>Please make sure that Javascript and cookies are enabled on your browser and that you are not blocking them from loading.</p>
    <p>Reference ID: #{uuid()}</p>
  </div></div>
  <div class="page-footer-wrapper"><div class="page-footer"><p>Powered by <a href="https://www.perimeterx.com/whywasiblocked">PerimeterX</a> , Inc.</p></div></div>
</section>
<script>window._pxAppId='PX{b64(8)}';window._pxJsClientSrc='/x/init.js';window._pxFirstPartyEnabled=true;</script>
</body></html>''',{},0.6)
R('challenge','human-press-and-hold-press','en',200,'https://www.realestate-listings-usa.com/homes/78701_rb/','''<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"/><title>Access to this page has been denied</title><style>body{font-family:Arial;background:#f7f7f7}.px-captcha-container{position:fixed;height:340px;background-color:#fff;font-family:Roboto,sans-serif;left:0;right:0;margin:auto;width:530px;top:20%}.px-captcha-header{color:#f0f0f0;font-size:29px}</style></head><body><div class="px-captcha-container"><div class="px-captcha-header"><img alt="Human" src="/px/logo.svg"></div><div class="px-captcha-message">Press &amp; Hold to confirm you are<br>a human (and not a bot).</div><div id="px-captcha"></div><div class="px-captcha-refid">Reference ID '''+uuid()+'''</div></div><div class="px-captcha-report">Having a problem?</div></body></html>''',{},1)
R('challenge','datadome-device-check','en',403,'https://www.ticketing-arena.com/event/9931',f'''<html lang="en"><head><title>ticketing-arena.com</title><style>#cmsg{{animation: A 1.5s;}}@keyframes A{{0%{{opacity:0;}}99%{{opacity:0;}}100%{{opacity:1;}}}}</style><meta name="viewport" content="width=device-width, initial-scale=1.0"></head><body style="margin:0"><p id="cmsg">Please enable JS and disable any ad blocker</p><script data-cfasync="false">var dd={{'rt':'c','cid':'{b64(60)}~{b64(40)}','hsh':'{hx(30).upper()}','t':'bv','s':{dg(5)},'e':'{hx(64)}','host':'geo.captcha-delivery.com','cookie':'{b64(90)}'}}</script><script data-cfasync="false" src="https://ct.captcha-delivery.com/c.js"></script></body></html>''',{"x-datadome":"protected","Server":"DataDome","Content-Type":"text/html;charset=utf-8"},0.5)
R('challenge','datadome-captcha-fr','fr',403,'https://www.bonnes-annonces.fr/voitures/offres',f'''<!DOCTYPE html>
<html lang="fr"><head><meta charset="utf-8"><title>bonnes-annonces.fr - Vérification</title><meta name="viewport" content="width=device-width"></head>
<body class="captcha"><div class="captcha__human__container"><div class="captcha__human"><h1 class="captcha__human__title">Vous êtes humain ?</h1><div class="captcha__human__captcha-container"><p class="captcha__human__message">Faites glisser vers la droite pour compléter le puzzle.</p><div class="captcha__puzzle" id="captcha__puzzle"></div></div></div><div class="captcha__robot"><p><strong>Pourquoi cette vérification ?</strong> Quelque chose dans le comportement du navigateur nous a intrigué.</p><p>Diverses possibilités :</p><ul><li>vous surfez et cliquez à une vitesse surhumaine</li><li>quelque chose bloque le fonctionnement de javascript sur votre ordinateur</li><li>un robot est sur le même réseau (IP {ip()}) que vous</li></ul><p>Un problème avec le puzzle ? <a href="mailto:contact@bonnes-annonces.fr">Contacter le support</a></p><p>ID : {uuid()}</p></div></div><script>dataLayer=[];ddCaptchaChallengeOptions={{"cid":"{b64(40)}"}}</script></body></html>''',{},0.7)
R('challenge','imperva-incapsula-iframe','en',200,'https://www.cityferries-booking.com/timetable',f'''<html style="height:100%"><head><META NAME="ROBOTS" CONTENT="NOINDEX, NOFOLLOW"><meta name="format-detection" content="telephone=no"><meta name="viewport" content="initial-scale=1.0"><meta http-equiv="X-UA-Compatible" content="IE=edge,chrome=1"><script type="text/javascript" src="/_Incapsula_Resource?SWJIYLWA=719d34d31c8e3a6e6fffd425f7e032f3"></script></head><body style="margin:0px;height:100%"><iframe id="main-iframe" src="/_Incapsula_Resource?CWUDNSAI=9&xinfo={rnd.randint(2,60)}-{dg(9)}-0%20NNNN%20RT%28{dg(13)}%2012%29%20q%280%20-1%20-1%20-1%29%20r%280%20-1%29%20B12%284%2C315%2C0%29%20U18&incident_id={dg(18)}-{dg(18)}&edet=12&cinfo=04000000&rpinfo=0&mth=GET" frameborder=0 width="100%" height="100%" marginheight="0px" marginwidth="0px">Request unsuccessful. Incapsula incident ID: {dg(18)}-{dg(18)}</iframe></body></html>''',{"X-Iinfo":"9-"+dg(9)+"-0 0NNN RT","X-CDN":"Imperva"},1)
R('challenge','imperva-reese84-interruption','en',200,'https://www.travelbooker24.com/hotels/rome',f'''<!DOCTYPE html>
<html lang="en">
<head>
<title>Pardon Our Interruption</title>
<link rel="stylesheet" type="text/css" href="//cdn.distilnetworks.com/css/distil.css" media="all">
<meta http-equiv="content-type" content="text/html; charset=UTF-8"><meta name="viewport" content="width=1000"><meta name="robots" content="noindex, nofollow"><meta http-equiv="cache-control" content="no-cache, no-store, must-revalidate">
<script>var isSpa = new URLSearchParams(window.location.search).get('X-SPA') === '1' || window.isImpervaSpaSupport;</script>
<script>window.onProtectionInitialized = function(protection) {{ if (protection && protection.cookieIsSet && !protection.cookieIsSet()) {{ showBlockPage(); return; }} if (!isSpa) {{ window.location.reload(true); }} }};window.reeseSkipExpirationCheck = true;</script>
<script src="/Jukes-Eyre-ruther-I-haue-ouer-it-Wee-fames-Pate-B" async></script>
</head>
<body>
<div class="container" id="interstitial-inprogress" style="display: none"><div class="box"><h1>Pardon Our Interruption</h1><div class="spinner"></div></div></div>
<div class="container"><div class="row"><div class="span12" id="block"><h1>Pardon Our Interruption...</h1>
<p>As you were browsing something about your browser made us think you were a bot. There are a few reasons this might happen:</p>
<ul><li>You've disabled JavaScript in your web browser.</li><li>You're a power user moving through this website with super-human speed.</li><li>You've disabled cookies in your web browser.</li><li>A third-party browser plugin, such as Ghostery or NoScript, is preventing JavaScript from running. Additional information is available in this <a title="Third party browser plugins that block javascript" href="http://ds.tl/help-third-party-plugins" target="_blank">support article</a>.</li></ul>
<p>To regain access, please make sure that cookies and JavaScript are enabled before reloading the page.</p></div></div></div>
</body></html>''',{},1)
R('challenge','distil-captcha-de','de',405,'https://www.mietwohnung-portal.de/Suche/Berlin','''<!DOCTYPE html>
<html lang="de"><head><title>Ich bin kein Roboter - Mietwohnung-Portal</title><meta charset="utf-8"><meta name="robots" content="noindex, nofollow"><script src="/assets/immo-1-17"></script><script async src="https://www.google.com/recaptcha/api.js?hl=de"></script><style>body{font-family:"Make It Sans",Verdana,sans-serif;color:#333}.page-wrapper{max-width:1170px;margin:auto}</style></head>
<body><div class="page-wrapper"><div class="main"><h1>Du bist ein Mensch aus Fleisch und Blut? Entschuldige bitte, dann haben wir dich leider für einen Roboter gehalten.</h1><p>Der kleine Test dient dazu, unsere Seite vor automatisierten Zugriffen zu schützen. Bitte bestätige, dass du kein Roboter bist, um deine Suche fortzusetzen.</p><form id="captchaForm" method="post"><div class="g-recaptcha" data-sitekey="6Lf_fakekey" data-callback="solvedCaptcha"></div></form><h2>Warum führen wir diese Sicherheitsmaßnahme durch?</h2><p>Mit dieser Methode stellen wir fest, dass du kein Roboter oder eine schädliche Spam-Software bist. Damit schützen wir unsere Webseite und die Daten unserer Nutzerinnen und Nutzer vor betrügerischen Aktivitäten.</p><h2>Warum haben wir deine Anfrage blockiert?</h2><p>Es kann verschiedene Gründe haben, warum wir dich fälschlicherweise als Roboter identifiziert haben. Möglicherweise hast du die Cookies für unsere Seite deaktiviert oder du surfst mit sehr hoher Geschwindigkeit.</p></div></div></body></html>''',{},0.6)
R('challenge','akamai-bm-interstitial','en',200,'https://www.airline-fareportal.com/us/en/flights',f'''<!DOCTYPE html>
<html><head><meta charset="utf-8"><title>&nbsp;</title><meta http-equiv="refresh" content="5; URL='/us/en/flights?bm-verify={b64(180)}'" /></head>
<body><div id="sec-if-cpt-container" role="main" style="display:none"><div class="behavioral-content"><h1>Verifying your device...</h1><p>Powered and protected by</p><img alt="Akamai" src="https://www.akamai.com/logo.svg"><div class="scf-akamai-logo-wrapper-spinner"></div></div></div><script>var i={dg(10)};var j=i+Number("{dg(4)}"+"{dg(5)}");</script><script>var xhr=new XMLHttpRequest();xhr.withCredentials=true;xhr.addEventListener("loadend",function(){{try{{var data=JSON.parse(xhr.responseText);if(data.hasOwnProperty('reload')){{if(data["reload"]==true){{window.location.replace(window.location.href.replace(/[&?]bm-verify=[^#]*/,""));}}}}}}catch(e){{}}}});xhr.open("POST","/_sec/verify?provider=interstitial",false);xhr.setRequestHeader("Content-Type","application/json");xhr.send(JSON.stringify({{"bm-verify":"{b64(180)}","pow":j}}));</script></body></html>''',{"Server":"AkamaiGHost"},1)
R('challenge','akamai-sec-cpt','en',428,'https://www.sneakerdrops.com/launch/upcoming',f'''<!DOCTYPE html><html><head><meta charset="utf-8"/><meta name="robots" content="noindex, nofollow"/><title>Challenge Validation</title><link rel="stylesheet" type="text/css" href="/_sec/cp_challenge/sec-4-4.css"><script type="text/javascript">function cp_clge_done(){{location.reload(true);}}</script><script src="/_sec/cp_challenge/sec-cpt-int-4-4.js" async defer></script></head><body><div class="sec-container"><div id="sec-text-container"><iframe id="sec-text-if" class="custmsg" src="https://www.sneakerdrops.com/errors/challenge.html"></iframe></div><div id="sec-if-container"><iframe id="sec-cpt-if" provider="crypto" class="crypto" data-duration="5" src="/_sec/cp_challenge/ak-challenge-4-4.htm" data-key="" challenge="{b64(120)}"></iframe></div></div></body></html>''',{"Server":"AkamaiGHost"},0.4)
R('challenge','aws-waf-challenge','en',202,'https://www.movie-database-hub.com/title/tt221',f'''<!DOCTYPE html>
<html lang="en">
<head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title></title>
    <style>
        body {{ font-family: "Arial"; }}
    </style>
    <script type="text/javascript">
    window.awsWafCookieDomainList = [];
    window.gokuProps = {{
"key":"{b64(220)}",
          "iv":"{b64(16)}",
          "context":"{b64(400)}"
}};
    </script>
    <script src="https://{hx(12)}.{hx(8)}.eu-west-1.token.awswaf.com/{hx(12)}/{hx(12)}/{hx(12)}/challenge.js"></script>
</head>
<body>
    <div id="challenge-container"></div>
    <script type="text/javascript">
        AwsWafIntegration.saveReferrer();
        AwsWafIntegration.checkForceRefresh().then((forceRefresh) => {{
            if (forceRefresh) {{
                AwsWafIntegration.forceRefreshToken().then(() => {{ window.location.reload(true); }});
            }} else {{
                AwsWafIntegration.getToken().then(() => {{ window.location.reload(true); }});
            }}
        }});
    </script>
    <noscript>
        <h1>JavaScript is disabled</h1>
        In order to continue, we need to verify that you're not a robot.
        This requires JavaScript. Enable JavaScript and then reload the page.
    </noscript>
</body>
</html>''',{"Server":"CloudFront","x-amzn-waf-action":"challenge"},0.5)
R('challenge','aws-waf-captcha','en',405,'https://www.localjobs-board.co.uk/jobs/leeds',f'''<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Human Verification</title><style>body{{font-family:"Arial"}}</style><script type="text/javascript">window.awsWafCookieDomainList = [];window.gokuProps = {{"key":"{b64(200)}","iv":"{b64(16)}","context":"{b64(300)}"}};</script><script src="https://{hx(12)}.eu-west-2.captcha-sdk.awswaf.com/{hx(12)}/captcha.js"></script></head><body><div id="captcha-container"></div><script>AwsWafIntegration.saveReferrer();window.addEventListener("load", function() {{const container = document.querySelector("#captcha-container");CaptchaScript.renderCaptcha(container, async (voucher) => {{await ChallengeScript.submitCaptcha(voucher);window.location.reload(true);}});}});</script><noscript><h1>JavaScript is disabled</h1>In order to continue, you need to verify that you're not a robot by solving a CAPTCHA puzzle. The CAPTCHA puzzle requires JavaScript. Enable JavaScript and then reload the page.</noscript></body></html>''',{},0.6)
R('challenge','anubis','en',200,'https://git.opensynth.org/firmware/commit/4be1',f'''<!doctype html><html lang="en"><head><title>Making sure you&#39;re not a bot!</title><link rel="stylesheet" href="/.within.website/x/xess/xess.min.css?cachebuster=v1.18.0"><meta name="viewport" content="width=device-width, initial-scale=1.0"><meta name="robots" content="noindex,nofollow"><style>body,html{{height:100%;display:flex;justify-content:center;align-items:center;margin-left:auto;margin-right:auto}}.centered-div{{text-align:center}}#status{{font-variant-numeric:tabular-nums}}</style><script id="anubis_version" type="application/json">"v1.18.0"</script><script id="anubis_challenge" type="application/json">{{"rules":{{"algorithm":"fast","difficulty":4,"report_as":4}},"challenge":"{hx(64)}"}}</script></head><body id="top"><main><h1 id="title" class="centered-div">Making sure you&#39;re not a bot!</h1><div class="centered-div"><img id="image" style="width:100%;max-width:256px;" src="/.within.website/x/cmd/anubis/static/img/pensive.webp?cacheBuster=v1.18.0"><p id="status">Loading...</p><script async type="module" src="/.within.website/x/cmd/anubis/static/js/main.mjs?cacheBuster=v1.18.0"></script><div id="progress" role="progressbar" aria-labelledby="status"><div class="bar-inner"></div></div><br><details><summary>Why am I seeing this?</summary><p>You are seeing this because the administrator of this website has set up <a href="https://github.com/TecharoHQ/anubis">Anubis</a> to protect the server against the scourge of <a href="https://thelibre.news/foss-infrastructure-is-under-attack-by-ai-companies/">AI companies aggressively scraping websites</a>. This can and does cause downtime for the websites, which makes their resources inaccessible for everyone.</p><p>Anubis is a compromise. Anubis uses a <a href="https://anubis.techaro.lol/docs/design/why-proof-of-work">Proof-of-Work</a> scheme in the vein of Hashcash, a proposed proof-of-work scheme for reducing email spam. The idea is that at individual scales the additional load is ignorable, but at mass scraper levels it adds up and makes scraping much more expensive.</p><p>Please note that Anubis requires the use of modern JavaScript features that plugins like <a href="https://jshelter.org/">JShelter</a> will disable. Please disable JShelter or other such plugins for this domain.</p></details><noscript><p>Sadly, you must enable JavaScript to get past this challenge. This is required because AI companies have changed the social contract around how website hosting works. A no-JS solution is a work-in-progress.</p></noscript></div><footer><div class="centered-div"><p>Protected by <a href="https://github.com/TecharoHQ/anubis">Anubis</a> from <a href="https://techaro.lol">Techaro</a>. Made with ❤️ in 🇨🇦.</p></div></footer></main></body></html>''',NGX(),1)
R('challenge','anubis-de','de',200,'https://bibliothek.hs-westufer.de/opac/titel/88121',f'''<!doctype html><html lang="de"><head><title>Wir stellen sicher, dass Sie kein Bot sind!</title><link rel="stylesheet" href="/.within.website/x/xess/xess.min.css?cachebuster=1.21.3"><meta name="viewport" content="width=device-width, initial-scale=1.0"><meta name="robots" content="noindex,nofollow"><script id="anubis_version" type="application/json">"1.21.3"</script><script id="anubis_challenge" type="application/json">{{"rules":{{"algorithm":"fast","difficulty":2}},"challenge":{{"id":"{uuid()}","randomData":"{hx(64)}"}}}}</script></head><body id="top"><main><h1 id="title" class="centered-div">Wir stellen sicher, dass Sie kein Bot sind!</h1><div class="centered-div"><p id="status">Ladevorgang...</p><details><summary>Warum sehe ich das?</summary><p>Sie sehen dies, weil der Administrator dieser Website Anubis eingerichtet hat, um den Server vor der Plage von KI-Unternehmen zu schützen, die aggressiv Websites scrapen.</p></details><noscript><p>Leider müssen Sie JavaScript aktivieren, um diese Prüfung zu bestehen.</p></noscript></div></main></body></html>''',{},1)
R('challenge','go-away','en',200,'https://cgit.tinykernel.net/tk/tree/mm/slab.c','''<!DOCTYPE html>
<html lang="en">
<head>
<title>Checking you are not a bot</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex,nofollow,noarchive"><meta name="referrer" content="origin">
<meta http-equiv="refresh" content="2; url=/.well-known/.git.gammaspectra.live/git/go-away/cmd/go-away/challenge/meta-refresh/verify-challenge?__goaway_token=c2Vj">
<style>body,html{height:100%;display:flex;justify-content:center;align-items:center}</style>
</head>
<body id="top">
<main><h1 id="title" class="centered-div">Checking you are not a bot</h1><div class="centered-div"><p id="status">Loading challenge <em>meta-refresh</em>...</p><details style="padding-top:30px;"><summary>Why am I seeing this?</summary><p>You are seeing this because the administrator of this website has set up go-away to protect the server against the scourge of AI companies aggressively scraping websites.</p><p>If you have any issues contact the site administrator and provide the following Request Id: <em>'''+hx(32)+'''</em></p></details></div></main>
</body></html>''',{},1)
R('challenge','vercel-checkpoint','en',429,'https://nextstartup-landing.io/pricing','''<!DOCTYPE html><html lang="en" data-astro-cid-nbv56vs3> <head><meta charset="UTF-8"><meta name="viewport" content="width=device-width"><meta name="robots" content="noindex"><title>Vercel Security Checkpoint</title><style>body[data-astro-cid-nbv56vs3]{margin:0;font-family:-apple-system,BlinkMacSystemFont,Segoe UI,Roboto}</style></head> <body data-astro-cid-nbv56vs3> <main data-astro-cid-nbv56vs3> <div id="spinner-container"></div><p id="header-text">We're verifying your browser</p><p id="footer-text"><a href="https://vercel.link/security-checkpoint" target="_blank" rel="noopener noreferrer">Website owner? Click here to fix</a></p></main><div class="footer"><p>Vercel Security Checkpoint</p><span class="separator">|</span><code>fra1::'''+dg(10)+'''-'''+b64(32)+'''</code></div><noscript>Enable JavaScript to continue</noscript><script type="module">(async()=>{const e=await fetch("/.well-known/vercel/security/request-challenge",{method:"POST"})})()</script></body></html>''',{"Server":"Vercel","x-vercel-mitigated":"challenge","x-vercel-challenge-token":"2."+dg(10)+".60."+b64(40)},0.4)
R('challenge','ddos-guard','en',403,'https://www.anime-archive.tv/watch/e12','''<!doctype html><html lang="en"><head><title>DDoS-Guard</title><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex,nofollow"><link rel="stylesheet" href="/.well-known/ddos-guard/css/style.css"></head><body data-ddg-origin="true" data-ddg-l10n="true"><div class="container"><div class="content"><h1 id="ddg-l10n-title">Checking your browser before accessing <span id="ddg-hostname">www.anime-archive.tv</span></h1><p id="ddg-l10n-description">Please wait a few seconds. Once this check is complete, the website will open automatically</p><div class="spinner"></div><noscript><p>Please enable JavaScript and cookies to continue</p></noscript></div><div class="footer"><p>DDoS protection by <a href="https://ddos-guard.net">DDoS-Guard</a></p><p>Your IP: '''+ip()+'''</p></div></div><script src="/.well-known/ddos-guard/js-challenge/index.js" async></script></body></html>''',{"Server":"ddos-guard"},0.5)
R('challenge','ddos-guard-ru','ru',403,'https://forum.radiolubitel.ru/viewtopic.php?t=4411','''<!doctype html><html lang="ru"><head><title>DDoS-Guard</title><meta charset="utf-8"><meta name="robots" content="noindex,nofollow"><link rel="stylesheet" href="/.well-known/ddos-guard/css/style.css"></head><body><div class="container"><h1>Проверка браузера перед переходом на сайт <span>forum.radiolubitel.ru</span></h1><p>Пожалуйста, подождите несколько секунд. После завершения проверки сайт откроется автоматически</p><div id="ddg-captcha"><p>Установите флажок, чтобы подтвердить, что вы человек</p></div><div class="footer">Защита от DDoS: <a href="https://ddos-guard.net">DDoS-Guard</a></div></div></body></html>''',{"Server":"ddos-guard"},0.5)
R('challenge','sucuri-js-redirect','en',200,'https://www.plumbing-austin-tx.com/water-heaters/','''<html><title>You are being redirected...</title>
<noscript>Javascript is required. Please enable javascript before you are allowed to see this page.</noscript>
<script>var s={},u,c,U,r,i,l=0,a,e=eval,w=String.fromCharCode,sucuri_cloudproxy_js='',S=\''''+b64(600)+'''=\';L=S.length;U=0;r=\'\';var A=\'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/\';for(u=0;u<64;u++){s[A.charAt(u)]=u;}for(i=0;i<L;i++){c=s[S.charAt(i)];U=(U<<6)+c;l+=6;while(l>=8){((a=(U>>>(l-=8))&0xff)||(i<(L-2)))&&(r+=w(a));}}e(r);</script></html>''',{"Server":"Sucuri/Cloudproxy","X-Sucuri-ID":"15008"},1)
R('challenge','siteground-sgcaptcha','en',202,'https://www.yogastudio-harbour.com/classes/','''<html><head><link rel="icon" href="data:;"><meta http-equiv="refresh" content="0;/.well-known/sgcaptcha/?r=%2Fclasses%2F&y=ipc:'''+ip()+''':1713212331.422"></meta></head></html>''',{"Server":"nginx","SG-Captcha":"challenge"},0.5)
R('challenge','siteground-robot-challenge','en',200,'https://mountainbike-trailguide.com/.well-known/captcha/?r=%2Ftrails','''<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Robot Challenge Screen</title><meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:;"><style>body{font-family:Roboto,sans-serif;background:#f7f7f7;text-align:center;padding-top:10%}</style></head><body><div class="main"><h1>Robot challenge screen</h1><p id="status">Checking the site connection security</p><p>mountainbike-trailguide.com is checking to see if you are a robot. This will take a few seconds.</p><img src="/.well-known/captcha/loader.gif"></div><script>const sgchallenge="20:1744101238:'''+hx(8)+":"+hx(64)+''':";const sgsubmit_url="/.well-known/captcha/?r=%2Ftrails";</script></body></html>''',{},1)
def amz(lang,dom,h,p,btn,c1,c2,alt,link): return f'''<!DOCTYPE html>
<!--[if lt IE 7]> <html lang="{lang}" class="a-no-js a-lt-ie9 a-lt-ie8 a-lt-ie7"> <![endif]-->
<!--[if gt IE 8]><!-->
<html class="a-no-js" lang="{lang}"><!--<![endif]--><head>
<meta http-equiv="content-type" content="text/html; charset=UTF-8">
<meta charset="utf-8">
<meta http-equiv="X-UA-Compatible" content="IE=edge,chrome=1">
<title dir="ltr">{dom}</title>
<meta name="viewport" content="width=device-width">
<link rel="stylesheet" href="https://images-na.ssl-images-amazon.com/images/G/01/AUIClients/AmazonUI-3c913031596ca78a3768f4e934b1cc02ce238101.secure.min._V1_.css">
<script>
if (true === true) {{
    var ue_t0 = (+ new Date()),
        ue_csm = window,
        ue = {{ t0: ue_t0, d: function() {{ return (+new Date() - ue_t0); }} }},
        ue_furl = "fls-eu.amazon.de",
        ue_mid = "A1PA6795UKMFR9",
        ue_sid = "{dg(3)}-{dg(7)}-{dg(7)}",
        ue_sn = "opfcaptcha.amazon.com",
        ue_id = '{b64(20).upper()}';
}}
</script>
</head>
<body>
<!--
        To discuss automated access to Amazon data please contact api-services-support@amazon.com.
        For information about migrating to our APIs refer to our Marketplace APIs at https://developer.amazonservices.com/ref=rm_c_sv, or our Product Advertising API at https://affiliate-program.amazon.com/gp/advertising/api/detail/main.html/ref=rm_c_ac for advertising use cases.
-->
<div class="a-container a-padding-double-large" style="min-width:350px;padding:44px 0 !important">
    <div class="a-row a-spacing-double-large" style="width: 350px; margin: 0 auto">
        <div class="a-row a-spacing-medium a-text-center"><i class="a-icon a-logo"></i></div>
        <div class="a-box a-alert a-alert-info a-spacing-base"><div class="a-box-inner"><i class="a-icon a-icon-alert"></i><h4>{h}</h4><p class="a-last">{p}</p></div></div>
        <div class="a-section"><div class="a-box a-color-offset-background"><div class="a-box-inner a-padding-extra-large"><form method="get" action="/errors/validateCaptcha" name=""><input type=hidden name="amzn" value="{b64(22)}==" /><input type=hidden name="amzn-r" value="&#047;dp&#047;B08" /><div class="a-row a-spacing-large"><div class="a-box"><div class="a-box-inner"><h4>{alt}</h4><div class="a-row a-text-center"><img src="https://images-na.ssl-images-amazon.com/captcha/usvmgloq/Captcha_{b64(10)}.jpg"></div><div class="a-row a-spacing-base"><input autocomplete="off" spellcheck="false" id="captchacharacters" name="field-keywords" class="a-span12" autocapitalize="off" autocorrect="off" type="text"></div></div></div></div><span class="a-button a-button-primary a-span12"><span class="a-button-inner"><button type="submit" class="a-button-text">{btn}</button></span></span><div class="a-divider"></div><div class="a-text-center"><a onclick="window.location.reload()">{link}</a></div></form></div></div></div>
    </div>
    <div class="a-divider a-divider-section"><div class="a-divider-inner"></div></div>
    <div class="a-text-center a-spacing-small a-size-mini"><a href="#">{c1}</a> <span class="a-letter-space"></span> <a href="#">{c2}</a></div>
    <div class="a-text-center a-size-mini a-color-secondary">&copy; 1996-2021, Amazon.com, Inc.</div>
</div>
</body></html>'''
R('challenge','amazon-captcha','en',503,'https://www.amazon.com/dp/B08N5WRWNW',amz('en-us','Amazon.com','Enter the characters you see below',"Sorry, we just need to make sure you're not a robot. For best results, please make sure your browser is accepting cookies.",'Continue shopping','Conditions of Use','Privacy Notice','Type the characters you see in this image:','Try different image'),{},0.8)
R('challenge','amazon-captcha-de','de',503,'https://www.amazon.de/gp/product/B07PJV',amz('de-de','Amazon.de','Geben Sie die Zeichen unten ein','Wir bitten um Ihr Verständnis und wollen uns sicher sein dass Sie kein Bot sind. Für beste Resultate, verwenden Sie bitte einen Browser der Cookies akzeptiert.','Weiter shoppen','Unsere AGB','Datenschutzerklärung','Geben Sie die angezeigten Zeichen im Bild ein:','Versuchen Sie ein anderes Bild'),{"Server":"Server"},0.8)
R('challenge','amazon-continue-shopping','it',200,'https://www.amazon.it/s?k=moka','''<!doctype html><html class="a-no-js" lang="it-it"><head><meta http-equiv="content-type" content="text/html; charset=UTF-8"><title dir="ltr">Amazon.it</title><meta name="viewport" content="width=device-width"><link rel="stylesheet" href="https://images-na.ssl-images-amazon.com/images/G/01/AUIClients/AmazonUI.css"></head><body><div class="a-container a-padding-double-large" style="min-width:350px;padding:44px 0 !important"><div class="a-row a-spacing-double-large" style="width:350px;margin:0 auto"><div class="a-row a-spacing-medium a-text-center"><i class="a-icon a-logo"></i></div><div class="a-box a-alert a-alert-info a-spacing-base"><div class="a-box-inner"><h4>Fai clic sul pulsante qui sotto per continuare a fare acquisti</h4></div></div><form method="get" action="/errors/validateCaptcha"><input type="hidden" name="amzn" value="'''+b64(22)+'''"><button type="submit" class="a-button-text">Continua con gli acquisti</button></form></div><div class="a-text-center a-size-mini"><a href="#">Condizioni generali di uso e vendita</a> <a href="#">Informativa sulla privacy</a></div></div></body></html>''',{},1)
R('challenge','google-sorry','en',429,'https://www.google.com/sorry/index?continue=https://www.google.com/search%3Fq%3Dbirds',f'''<!DOCTYPE html PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN" "http://www.w3.org/TR/html4/loose.dtd">
<html>
<head><meta http-equiv="content-type" content="text/html; charset=utf-8"><meta name="viewport" content="initial-scale=1"><title>https://www.google.com/search?q=birds</title></head>
<body style="font-family: arial, sans-serif; background-color: #fff; color: #000; padding:20px; font-size:18px; overscroll-behavior:contain;" onload="e=document.getElementById('captcha');if(e){{e.focus();}} if(solveSimpleChallenge) {{solveSimpleChallenge(,);}}">
<div style="max-width:400px;">
<hr noshade size="1" style="color:#ccc; background-color:#ccc;"><br>
<form id="captcha-form" action="index" method="post">
<noscript>
<div style="font-size:13px;">
  In order to continue, please enable javascript on your web browser.
</div>
</noscript>
<script src="https://www.google.com/recaptcha/api.js" async defer></script>
<script>var submitCallback = function(response) {{document.getElementById('captcha-form').submit();}};</script>
<div id="recaptcha" class="g-recaptcha" data-sitekey="6LfwuyUTAAAAAOAmoS0fdqijC2PbbdH4kjq62Y1b" data-callback="submitCallback" data-s="{b64(120)}"></div>
<input type='hidden' name='q' value='{b64(60)}'><input type="hidden" name="continue" value="https://www.google.com/search?q=birds">
</form>
<hr noshade size="1" style="color:#ccc; background-color:#ccc;">
<div style="font-size:13px;">
<b>About this page</b><br><br>
Our systems have detected unusual traffic from your computer network.  This page checks to see if it&#39;s really you sending the requests, and not a robot.  <a href="#" onclick="document.getElementById('infoDiv').style.display='block';">Why did this happen?</a><br><br>
<div id="infoDiv" style="display:none; background-color:#eee; padding:10px; margin:0 0 15px 0; line-height:1.4em;">
This page appears when Google automatically detects requests coming from your computer network which appear to be in violation of the <a href="//www.google.com/policies/terms/">Terms of Service</a>. The block will expire shortly after those requests stop.  In the meantime, solving the above CAPTCHA will let you continue to use our services.<br><br>This traffic may have been sent by malicious software, a browser plug-in, or a script that sends automated requests.  If you share your network connection, ask your administrator for help &mdash; a different computer using the same IP address may be responsible.  <a href="//support.google.com/websearch/answer/86640">Learn more</a>
</div>
IP address: {ip()}<br>Time: 2023-05-0{rnd.randint(1,9)}T11:22:09Z<br>URL: https://www.google.com/search?q=birds<br>
</div></div></body></html>''',{"Server":"HTTP server (unknown)"},0.5)
R('challenge','bing-turnstile','en',200,'https://www.bing.com/search?q=local+bakery','''<!DOCTYPE html><html dir="ltr" lang="en"><head><title>local bakery - Search</title><meta http-equiv="Content-Type" content="text/html; charset=utf-8"/><style>.captcha{margin:60px auto;width:520px;font-family:Segoe UI,Arial}.captcha_header{font-size:24px}</style></head><body class="b_respl"><header id="b_header"><form action="/search" id="sb_form"><a class="b_logoArea" href="/?FORM=Z9FD1"><h1 class="b_logo">Microsoft Bing</h1></a><input class="b_searchbox" name="q" value="local bakery"></form></header><div id="b_content"><div class="captcha"><div class="captcha_header">One last step</div><div class="captcha_text">Please solve the challenge below to continue</div><div id="cf-chl-widget" class="cf-turnstile" data-sitekey="0x4AAAAAAA"></div></div></div><footer id="b_footer"><ul><li>Privacy and Cookies</li><li>Legal</li><li>Feedback</li></ul></footer></body></html>''',{},1)
R('challenge','yandex-smartcaptcha','ru',200,'https://yandex.ru/showcaptcha?cc=1','''<!DOCTYPE html><html lang="ru" class="Document"><head><meta charset="utf-8"/><meta http-equiv="X-UA-Compatible" content="IE=edge"/><title data-react-helmet="true">Вы не робот?</title><link rel="stylesheet" href="https://yastatic.net/s3/smartcaptcha/advanced/captcha.css"/></head><body class="Body Theme"><div id="root"><div class="Container"><div class="Spacer"><form method="POST" action="/checkcaptcha?key='''+uuid()+'''" class="Form" id="checkbox-captcha-form"><div class="LogoLink"><a href="https://yandex.ru" class="LogoIcon" title="Яндекс"></a></div><h1 class="Text Text_weight_medium Text_typography_headline-s">Подтвердите, что запросы отправляли вы, а&nbsp;не&nbsp;робот</h1><div class="CheckboxCaptcha"><div class="CheckboxCaptcha-Anchor"><input type="submit" class="CheckboxCaptcha-Button" aria-label="SmartCaptcha нужна проверка пользователя" id="js-button"/></div><div class="CheckboxCaptcha-Label"><span class="CheckboxCaptcha-LabelText">Я не робот</span><span>Нажмите, чтобы продолжить</span></div></div></form><p class="Help">Нам очень жаль, но&nbsp;запросы с&nbsp;вашего устройства похожи на&nbsp;автоматические. <a href="https://yandex.ru/support/smart-captcha/" class="Link">Почему это могло произойти?</a></p><p>Если у&nbsp;вас возникли проблемы, пожалуйста, воспользуйтесь <a href="https://yandex.ru/support/captcha/form.html">формой обратной связи</a></p><div class="Code">'''+dg(8)+''':1687790412</div></div></div></div></body></html>''',{"X-Yandex-Captcha":"captcha"},1)
R('challenge','baidu-security-verify','zh',200,'https://wappass.baidu.com/static/captcha/tuxing.html?ak=c27bbc','''<!DOCTYPE html><html lang="zh-CN"><head><meta charset="utf-8"><title>百度安全验证</title><meta http-equiv="Content-Type" content="text/html; charset=utf-8"><meta name="apple-mobile-web-app-capable" content="yes"><meta name="viewport" content="width=device-width, user-scalable=no, initial-scale=1.0"><link rel="stylesheet" href="https://wappass.bdimg.com/static/machine/css/api/mkdjump_aac6df1.css" /></head><body><div class="timeout hide"><div class="timeout-img"></div><div class="timeout-title">网络不给力,请稍后重试</div><button type="button" class="timeout-button">返回首页</button></div><div class="timeout-feedback hide"><div class="timeout-feedback-icon"></div><p class="timeout-feedback-title">问题反馈</p></div><script src="https://wappass.baidu.com/static/machine/js/api/mkd.js"></script><script src="https://wappass.bdimg.com/static/machine/js/mkdjump_v2.js"></script></body></html>''',{},1)
R('challenge','alibaba-punish-slider','zh',200,'https://detail.taopin-mall.com/item.htm?id=6123','''<!DOCTYPE html><html><head><meta charset="utf-8"><title>验证码拦截</title><meta name="viewport" content="width=device-width,initial-scale=1"><script>window._config_={"action":"captcha","HOST":"detail.taopin-mall.com:443","PATH":"/item.htm/_____tmd_____/punish","NCAPPKEY":"X82Y__'''+hx(32)+'''","FAILTO":""};</script></head><body><div id="baxia-punish" class="show"><div class="nocaptcha"><div class="warnning-text">亲,请拖动下方滑块完成验证</div><div id="nocaptcha" class="nc-container"></div><div class="captcha-tips"><p>通过验证以确保正常访问</p></div><div class="bx-feedback-btn"><a href="//survey.taopin-mall.com/apps/zhiliao/">点我反馈 &gt;</a></div></div><div class="bannar"><div class="item">检测到您的网络环境异常,为了您的账号安全,请完成验证后继续访问。</div></div></div><script src="//g.alicdn.com/sd/punish/wait-loading.js"></script></body></html>''',{"Server":"Tengine","bxpunish":"1"},1)
R('challenge','aliyun-acw-sc-v2','zh',200,'https://www.keji-luntan.cn/thread-88123-1-1.html','''<html><script>
var arg1=\''''+hx(40).upper()+'''\';
var _0x4818=['\\x63\\x73\\x4b\\x48\\x77\\x71\\x4d\\x49','\\x5a\\x73\\x4b\\x4a\\x77\\x72\\x38\\x56','\\x41\\x63\\x4b\\x73'];(function(_0x4c97f0,_0x1742fd){var _0x4db1c=function(_0x48181e){while(--_0x48181e){_0x4c97f0['\\x70\\x75\\x73\\x68'](_0x4c97f0['\\x73\\x68\\x69\\x66\\x74']());}};}(_0x4818,0x15b));
var l=function(){while(window["_phantom"]||window["__phantomas"]){};var _0x5e8b26="3000176000856006061501533003690027800375";var _0x23a392=arg1[_0x55f3("0x19","\\x50\\x67\\x35")]();arg2=_0x23a392;setTimeout('reload(arg2)',2)};
function setCookie(name,value){var expiredate=new Date();expiredate.setTime(expiredate.getTime()+(3600*1000));document.cookie=name+"="+value+";expires="+expiredate.toGMTString()+";max-age=3600;path=/";}
function reload(x) {setCookie("acw_sc__v2", x);document.location.reload();}
</script></html>''',{"Server":"Tengine","Content-Type":"text/html; charset=utf-8"},1)
R('challenge','geetest-intercept','zh',200,'https://www.fangyuan-ershou.com/sh/ershoufang/','''<!DOCTYPE html><html><head><meta http-equiv="Content-Type" content="text/html; charset=utf-8" /><title>CAPTCHA</title><link rel="stylesheet" href="//static.fangyuan-ershou.com/hip/captcha.css"><script src="//static.geetest.com/static/tools/gt.js"></script></head><body><div class="header"><img src="//static.fangyuan-ershou.com/logo.png"></div><div class="main"><h2>人机认证</h2><p class="tips">您的访问行为异常,请完成下面的验证后继续浏览</p><div id="captcha-box"><p id="wait" class="show">正在加载验证码......</p></div><button id="btn" class="geetest">请点击按钮进行验证</button></div><div class="footer">若您多次看到此页面,请拨打客服热线 400-820-1288</div><script>initGeetest({gt:"'''+hx(32)+'''",challenge:"'''+hx(32)+'''",product:"popup",offline:false,new_captcha:true},handler);</script></body></html>''',{},1)
R('challenge','kasada','en',429,'https://www.propertyportal-au.com/buy/in-richmond','''<html><head></head><body><script>window.KPSDK={};KPSDK.now=typeof performance!=='undefined'&&performance.now?performance.now.bind(performance):Date.now.bind(Date);KPSDK.start=KPSDK.now();</script><script src="/'''+uuid()+'''/'''+uuid()+'''/ips.js?KP_UIDz='''+b64(80)+'''&x-kpsdk-im=AAI'''+b64(120)+'''"></script></body></html>''',{"x-kpsdk-ct":b64(30)},0.5)
R('challenge','f5-bobcmn','en',200,'https://secure.statewidebenefits.org/apply','''<html><head><meta http-equiv="Pragma" content="no-cache"/>
<meta http-equiv="Expires" content="-1"/>
<meta http-equiv="CacheControl" content="no-cache"/>
<meta http-equiv="Content-Type" content="text/html; charset=utf-8"/>
<link rel="shortcut icon" href="data:;base64,iVBORw0KGgo="/>
<script type="text/javascript">
(function(){
window["bobcmn"] = "10111111111110200000005200000005200000006200000001'''+hx(400)+'''";window["failureConfig"] = "524f6f707321'''+hx(80)+'''";window["loaderConfig"] = "/TSPD/?type=20";
})();
</script>
<script type="text/javascript" src="/TSPD/08'''+hx(30)+'''?type=8"></script>
<noscript>Please enable JavaScript to view the page content.<br/>Your support ID is: '''+dg(20)+'''.</noscript>
</head><body>
</body></html>''',{"Set-Cookie":"TS01"+hx(6)+"="+hx(40)},1)
R('challenge','radware-perfdrive','en',200,'https://validate.perfdrive.com/?ssa=22f1&ssb=5512','''<!DOCTYPE html>
<html lang="en"><head><title>Radware Bot Manager Captcha</title><meta name="viewport" content="width=device-width, initial-scale=1.0"><meta name="robots" content="noindex, nofollow"><script src="https://hcaptcha.com/1/api.js" async defer></script><style>.captcha-mid{margin:0 auto;max-width:1000px;padding:20px}</style></head>
<body><div class="header"><div class="logo"></div></div><div class="captcha-mid"><h3 class="head">We apologize for the inconvenience...</h3><p>...but your activity and behavior on this site made us think that you are a bot.</p><p><strong>Note:</strong> A number of things could be going on here.</p><ul><li>If you are attempting to access this site using an anonymous Private/Proxy network, please disable that and try accessing site again.</li><li>Due to previously detected malicious behavior which originated from the network you're using, please request unblock to site.</li></ul><div class="captcha"><p>Please solve this CAPTCHA to request unblock to the website</p><form id="captcha-form" method="post"><div class="h-captcha" data-sitekey="'''+uuid()+'''" data-callback="captchaSuccess"></div></form></div><p>You reached this page when trying to access https://www.phonedeals-direct.com/ from '''+ip()+''' on May 15 2022, 10:12:44 UTC.</p></div></body></html>''',{},1)
R('challenge','reblaze','en',200,'https://www.exchange-currencies.co.il/rates','''<html><head><meta charset="utf-8"></head><body><script>window.rbzns={fiftyeightkb:58000,thirtybits:16,randomdata:"'''+hx(16)+'''",seed:"'''+b64(60)+'''"};window.rbzns.bereshit="1";</script><script src="/c3650cdf-216a-4ba2-80b0-9d6c540b105e58d2670b-ea0f-484e-b88c-0e2c1499ec9bd71e4b42-8570-44e3-89b6-845326fa43b6" type="text/javascript"></script></body></html>''',{},1)
R('challenge','bitninja','en',200,'https://www.kerti-gep-alkatresz.hu/lanc','''<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">
<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en" lang="en"><head><meta http-equiv="Content-Type" content="text/html; charset=utf-8"><title>Waiting for the redirectiron...</title><link href="https://fonts.googleapis.com/css?family=Cabin" rel="stylesheet"><style>body{background-color:#e7e8ea;font-family:Cabin}.spinner{margin:30px auto}</style></head><body><div id="main"><h1>Please wait...</h1><h2>Browser Integrity Check</h2><p>We check if your request is coming from a real browser. You will be redirected to the requested page automatically.</p><noscript><p>Please turn on javascript, or your IP will stay on the greylist.</p></noscript><p>Security check by <a href="https://bitninja.io">BitNinja.io</a></p></div><a href="/honeypot" style="display:none">contact us</a></body></html>''',{},1)
R('challenge','imunify360-splash','en',200,'https://www.caravan-parts-store.co.uk/awnings','''<!DOCTYPE html><html lang="en"><head> <meta charset="UTF-8"> <meta name="viewport" content="width=device-width, initial-scale=1"> <title>One moment, please...</title> <style>:root{--wsidchk-bg:#f6f7f8}body{margin:0;padding:0}html{height:100%;font-family:Arial,Helvetica,sans-serif}.spinner{text-align:center;padding-top:20%}</style> <meta http-equiv="refresh" content="15"></head><body> <div class="container"> <div class="loader-wrap"><svg class="spinner"></svg></div> <h1>Please wait while your request is being verified...</h1> </div> <form id="wsidchk-form" style="display:none;" action="/z0f76a1d14fd21a8fb5fd0d03e0fdc3d3cedae52f" method="GET"><input type="hidden" id="wsidchk" name="wsidchk"/></form> <script>(function(){var west=+((+!+[])+(+!+[]+!![]+!![])),east=+((+!+[]+!![]+[])),x=function(){try{return !!window.addEventListener;}catch(e){return !!0;}},y=function(y,z){x()?document.addEventListener("DOMContentLoaded",y,z):document.attachEvent("onreadystatechange",y);};y(function(){document.getElementById('wsidchk').value=west+east;document.getElementById('wsidchk-form').submit();},false);})();</script></body></html>''',{"Server":"imunify360-webshield/1.21"},1)
R('challenge','imunify360-captcha','pl',200,'https://www.sklep-modelarski24.pl/farby','''<!DOCTYPE html><html lang="pl"><head><meta charset="utf-8"><title>Captcha</title><meta name="viewport" content="width=device-width,initial-scale=1"><script src="https://www.google.com/recaptcha/api.js?hl=pl" async defer></script></head><body><div class="captcha-wrap"><h1>Ochrona przed botami: sklep-modelarski24.pl</h1><p>Zauważyliśmy nietypową aktywność z Twojego adresu IP '''+ip()+''' i zablokowaliśmy dostęp do tej strony.</p><p>Potwierdź, że nie jesteś robotem</p><form action="/captchacheck" method="POST"><div class="g-recaptcha" data-sitekey="6Ldxxx" data-size="invisible"></div><button type="submit">Nie jestem robotem</button></form><p>Powered by <a href="https://www.imunify360.com/">Imunify360</a></p></div></body></html>''',{"Server":"imunify360-webshield/1.18"},1)
R('challenge','infinityfree-aes','en',200,'http://myclassproject.epizy.com/index.php','''<html><body><script type="text/javascript" src="/aes.js" ></script><script>function toNumbers(d){var e=[];d.replace(/(..)/g,function(d){e.push(parseInt(d,16))});return e}function toHex(){for(var d=[],d=1==arguments.length&&arguments[0].constructor==Array?arguments[0]:arguments,e="",f=0;f<d.length;f++)e+=(16>d[f]?"0":"")+d[f].toString(16);return e.toLowerCase()}var a=toNumbers("f655ba9d09a112d4968c63579db590b4"),b=toNumbers("98344c2eee86c3994890592585b49f80"),c=toNumbers("'''+hx(32)+'''");document.cookie="__test="+toHex(slowAES.decrypt(c,2,a,b))+"; expires=Thu, 31-Dec-37 23:55:55 GMT; path=/"; location.href="http://myclassproject.epizy.com/index.php?i=1";</script><noscript>This site requires Javascript to work, please enable Javascript in your browser or use a browser with Javascript support</noscript></body></html>''',{"Server":"openresty"},1)
R('challenge','fastly-client-challenge','en',200,'https://www.package-index.org/project/fastcsv/','''<!DOCTYPE html><html lang="en"><head><meta charset="UTF-8"><meta name="viewport" content="width=device-width, initial-scale=1.0"><title>Client Challenge</title><style>body{font-family:Roboto,sans-serif;display:flex;align-items:center;justify-content:center;height:100vh}.container{max-width:600px}</style></head><body><noscript><div class="noscript-container"><p>JavaScript is disabled in your browser.</p><p>Please enable JavaScript to proceed.</p></div></noscript><div id="loading-error" style="display:none" role="alert"><p>A required part of this site couldn’t load. This may be due to a browser extension, network issues, or browser settings. Please check your connection, disable any ad blockers, or try using a different browser.</p></div><script src="/_fs-ch-'''+b64(22)+'''/script.js?reload=true" onerror="loadError()"></script></body></html>''',{"X-Served-By":"cache-fra-etou"+dg(4)},1)
R('challenge','azure-waf-js','en',403,'https://portal.coastalutilities.com/outages','''<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Azure WAF</title><meta name="robots" content="noindex"><style>body{font-family:"Segoe UI",sans-serif}</style></head><body><div class="box"><h2 id="waf-title">Please wait while we verify your browser</h2><p>This process is automatic. The site you requested will be displayed shortly.</p><p class="ref">Ref: '''+b64(24)+'''</p><noscript>JavaScript must be enabled to complete verification.</noscript></div><script src="/.azwaf/jsc/v1/challenge.js"></script></body></html>''',{"x-azure-ref":b64(40)},0.6)
R('challenge','arvancloud-fa','fa',200,'https://www.bazar-ketab.ir/product/1203','''<!DOCTYPE html><html lang="fa" dir="rtl"><head><meta charset="utf-8"><title>در حال انتقال به سایت مورد نظر هستید...</title><meta name="viewport" content="width=device-width,initial-scale=1"><style>body{font-family:Vazir,Tahoma;text-align:center}</style></head><body><div class="center"><img src="/__arcsjs/logo.svg" alt="ArvanCloud"><h1>در حال انتقال به سایت مورد نظر هستید...</h1><p>برای حفظ امنیت سایت، مرورگر شما در حال بررسی است. این فرایند به صورت خودکار انجام می‌شود و حداکثر ۵ ثانیه طول می‌کشد.</p><p class="en">Transferring to the website...</p></div><script>document.cookie="__arcsjs='''+hx(32)+''';path=/";setTimeout(function(){location.reload(true)},3000);</script></body></html>''',{"Server":"ArvanCloud"},1)
R('challenge','js-cookie-reload','de',200,'http://www.wetterarchiv-bodensee.de/2019/07','''<html><head><script type="text/javascript">
<!--
function leastFactor(n){ if (isNaN(n) || !isFinite(n)) return NaN; if (typeof phantom !== 'undefined') return 'phantom'; if (n==0) return 0; if (n%1 || n*n<2) return 1; if (n%2==0) return 2; return n; }
function go() { var p='''+dg(13)+'''; var s='''+dg(10)+'''; n=leastFactor(p); document.cookie="KEY="+n+"*"+p/n+":"+s+":'''+dg(10)+''':1;path=/;"; document.location.reload(true); }
//-->
</script></head>
<body onload="go()">
Loading ...
</body>
</html>''',{},1)
R('challenge','hcaptcha-custom','en',200,'https://www.stockphoto-bay.com/search/sunset','''<!DOCTYPE html><html><head><title>Are you a human?</title><meta name="viewport" content="width=device-width"><script src="https://js.hcaptcha.com/1/api.js" async defer></script><style>body{font:16px/1.5 Inter,sans-serif;background:#fafafa}.card{max-width:420px;margin:12vh auto;background:#fff;padding:32px;border-radius:8px}</style></head><body><div class="card"><img src="/logo.svg" height="28"><h1>Quick check</h1><p>We've noticed some unusual activity from your network. Tick the box and we'll take you right back to where you were.</p><form method="post" action="/_verify?next=%2Fsearch%2Fsunset"><div class="h-captcha" data-sitekey="'''+uuid()+'''"></div><button>Continue</button></form><p class="small">Still stuck? Email support@stockphoto-bay.com and mention code '''+b64(9).upper()+'''</p></div></body></html>''',{},1)
R('challenge','recaptcha-court-pt','pt',200,'https://consulta.tj-estadual.jus.br/processo/pesquisar?num=000121','''<!DOCTYPE html><html lang="pt-BR"><head><meta charset="UTF-8"><title>Consulta Processual - Validação</title><link rel="stylesheet" href="/resources/css/sajtheme.css"><script src="https://www.google.com/recaptcha/api.js?hl=pt-BR"></script></head><body><div id="header"><img src="/img/brasao.png" alt="Poder Judiciário"><h1>Tribunal de Justiça</h1><h2>Consulta de Processos do 1º Grau</h2></div><div class="esajTabelaMensagem"><p>Para sua segurança e para evitar consultas automatizadas, confirme que você não é um robô antes de prosseguir.</p></div><form name="captcha" method="post"><div class="g-recaptcha" data-sitekey="6Lekkk"></div><input type="submit" value="Prosseguir" class="spwBotaoDefault"></form><div id="rodape">Desenvolvido pela Softplan em parceria com a Secretaria de Tecnologia da Informação</div></body></html>''',{},1,True)
R('challenge','friendlycaptcha-authority-de','de',200,'https://www.handelsauskunft-land.de/suche/treffer?id=HRB2213',gov('de','Registerportal des Landes','https://www.handelsauskunft-land.de/suche','Sicherheitsabfrage','''<h1>Sicherheitsabfrage</h1><p>Um Missbrauch durch automatisierte Abfragen zu verhindern, bitten wir Sie, die folgende Sicherheitsabfrage abzuschließen. Anschließend werden Sie zum gewünschten Registerblatt weitergeleitet.</p><form method="post" action="/suche/check"><div class="frc-captcha" data-sitekey="FCMGEMUD2KTDSQ5H" data-lang="de"></div><button type="submit" class="btn">Weiter</button></form>''',['Normale Suche','Erweiterte Suche','Bekanntmachungen','Hilfe'],['Impressum','Datenschutz','Barrierefreiheit']),{},1,True)
R('challenge','arkose-funcaptcha','en',200,'https://www.blockgame-community.com/login/verify','''<!DOCTYPE html><html><head><meta charset="utf-8"><title>Verification</title><script src="//api.arkoselabs.com/v2/'''+uuid().upper()+'''/api.js" data-callback="setupEnforcement" async defer></script><style>body{background:#232527;color:#fff;font-family:"Builder Sans",Arial}</style></head><body><div id="app"><div class="modal-dialog"><div class="modal-header"><h4>Security Check</h4></div><div class="modal-body"><p>Please solve the puzzle below to show us you’re a real person</p><iframe id="enforcementFrame" data-e2e="enforcement-frame" title="Verification challenge"></iframe><button>Start Puzzle</button></div></div></div></body></html>''',{},1)
R('challenge','recaptcha-ja','ja',200,'https://www.chintai-heya.jp/tokyo/list/','''<!DOCTYPE html><html lang="ja"><head><meta charset="UTF-8"><title>認証 | 賃貸へや探し</title><meta name="robots" content="noindex"><script src="https://www.google.com/recaptcha/api.js?hl=ja" async defer></script></head><body><header class="l-header"><a href="/"><img src="/img/logo.png" alt="賃貸へや探し"></a></header><main><section class="p-verify"><h1>アクセス確認</h1><p>お使いのネットワークから通常と異なるアクセスが検出されました。<br>お手数ですが、下記の「私はロボットではありません」にチェックを入れて「送信する」ボタンを押してください。</p><form method="post"><div class="g-recaptcha" data-sitekey="6Lcjjj"></div><button type="submit">送信する</button></form></section></main><footer><small>&copy; Chintai Heya Sagashi Inc.</small></footer></body></html>''',{},1)
R('challenge','turkish-olagan-disi','tr',200,'https://www.ilanpazari.com.tr/cs/tloading','''<!DOCTYPE html><html lang="tr"><head><meta charset="utf-8"><title>Bir dakika lütfen... - ilanpazari.com.tr</title><meta name="viewport" content="width=device-width"><script src="https://challenges.cloudflare.com/turnstile/v0/api.js?onload=onloadTurnstileCallback" defer></script><style>body{font-family:Arial;background:#f5f5f5}</style></head><body><div class="container"><img src="/assets/logo.png" alt="ilanpazari"><h1>Basılı tutun</h1><h2>Olağan dışı bir erişim tespit ettik.</h2><p>ilanpazari.com.tr'ye güvenli bir şekilde devam edebilmeniz için gerçek bir kullanıcı olduğunuzu doğrulamamız gerekiyor.</p><div id="turnStileWidget"></div><button id="btn-continue" disabled>Devam Et</button><p class="warn">Sorun yaşıyorsanız Müşteri Hizmetleri: 0 850 222 44 44</p></div></body></html>''',{},1)
R('challenge','naver-style-ko','ko',200,'https://cafe.modusearch.kr/ArticleList.nhn?menuid=3','''<!DOCTYPE html><html lang="ko"><head><meta charset="utf-8"><title>보안 확인</title></head><body><div id="wrap"><div id="content"><h2 class="tit">자동입력 방지</h2><p>비정상적인 접근이 감지되어 자동입력 방지 문자를 확인합니다. 아래 이미지를 보이는 대로 입력해 주세요.</p><form id="frm" method="post"><img id="captchaimg" src="/captcha/nhncaptchav4.gif?key='''+b64(16)+'''" alt="캡차이미지"><a href="#" role="button">새로고침</a> <a href="#" role="button">음성으로 듣기</a><input type="text" id="chptcha" title="자동입력 방지 문자" placeholder="정답을 입력해주세요."><button type="submit">확인</button></form></div></div></body></html>''',{},1)
R('challenge','vbulletin-human-verify','en',200,'https://forums.vintagevolvo.net/showthread.php?t=9123',vb('en','Vintage Volvo Forums','https://forums.vintagevolvo.net/','Vintage Volvo Forums - Human Verification','''<table class="tborder" cellpadding="6" cellspacing="1" border="0" width="70%" align="center"><tr><td class="tcat">Human Verification</td></tr><tr><td class="panelsurround" align="center"><div class="panel"><div align="left">In order to view this forum as a guest please answer the following question, to show that you are a real person.<fieldset class="fieldset"><legend>Random Question</legend><table cellpadding="0" cellspacing="3" border="0"><tr><td>How many wheels does a car have?</td></tr><tr><td><input type="text" class="bginput" name="humanverify[input]" size="30" /></td></tr></table></fieldset><div style="margin-top:6px"><input type="submit" class="button" value="Continue" accesskey="s" /></div></div></div></td></tr></table>'''),{},1,True)
R('challenge','cleantalk-sfw','en',200,'https://www.sailboat-owners-guide.com/anchors/','''<html><head><title>Blacklisted</title><meta charset="utf-8"><meta name="robots" content="noindex"><style>html{font-size:14px;font-family:sans-serif}.container{max-width:720px;margin:8% auto}</style></head><body><div class="container"><h1 class="top">SpamFireWall is activated for your IP '''+ip()+''' <a href="https://cleantalk.org/blacklists">Check IP</a></h1><h3>To proceed further, you need to pass the check. The page will be redirected automatically in 3 seconds.</h3><p>Or you don't have to wait and <a id="sfw_pass_link" href="#">click here to continue</a></p><p id="js_notice">Please enable JavaScript. JavaScript is required to pass anti-crawler verification on www.sailboat-owners-guide.com</p><p class="footer"><a href="https://cleantalk.org">CleanTalk</a> - Anti-Crawler Protection</p></div><script>function set_spamprotect_cookie(v){document.cookie="wordpress_apbct_antibot="+v+"; path=/; samesite=lax"}set_spamprotect_cookie("'''+hx(32)+'''");setTimeout(function(){window.location.reload()},3000);</script></body></html>''',{},0.9)
R('challenge','press-puzzle-vi','vi',200,'https://www.chotot-raovat.vn/mua-ban-xe','''<!doctype html><html lang="vi"><head><meta charset="utf-8"><title>Xác minh truy cập</title><meta name="viewport" content="width=device-width,initial-scale=1"></head><body><div class="verify"><h1>Vui lòng xác minh bạn không phải là robot</h1><p>Chúng tôi phát hiện lưu lượng truy cập bất thường từ thiết bị của bạn. Hãy kéo thanh trượt để ghép hình và tiếp tục.</p><div id="slider-captcha"></div><p>IP: '''+ip()+''' • Mã yêu cầu: '''+hx(12)+'''</p></div><script src="/static/js/slidercaptcha.min.js"></script></body></html>''',{},1)

# ============ BLOCKED ============
def cfblk(title,h1,h2,why,fix,site): return f'''<!DOCTYPE html>
<!--[if lt IE 7]> <html class="no-js ie6 oldie" lang="en-US"> <![endif]-->
<!--[if gt IE 8]><!--> <html class="no-js" lang="en-US"> <!--<![endif]-->
<head>
<title>{title}</title>
<meta charset="UTF-8" />
<meta http-equiv="Content-Type" content="text/html; charset=UTF-8" />
<meta http-equiv="X-UA-Compatible" content="IE=Edge" />
<meta name="robots" content="noindex, nofollow" />
<meta name="viewport" content="width=device-width,initial-scale=1" />
<link rel="stylesheet" id="cf_styles-css" href="/cdn-cgi/styles/cf.errors.css" />
<style>body{{margin:0;padding:0}}</style>
<!--[if gte IE 10]><!-->
<script>
  if (!navigator.cookieEnabled) {{
    window.addEventListener('DOMContentLoaded', function () {{
      var cookieEl = document.getElementById('cookie-alert');
      cookieEl.style.display = 'block';
    }})
  }}
</script>
<!--<![endif]-->
</head>
<body>
  <div id="cf-wrapper">
    <div class="cf-alert cf-alert-error cf-cookie-error" id="cookie-alert" data-translate="enable_cookies">Please enable cookies.</div>
    <div id="cf-error-details" class="cf-error-details-wrapper">
      <div class="cf-wrapper cf-header cf-error-overview">
        <h1 data-translate="block_headline">{h1}</h1>
        <h2 class="cf-subheadline">{h2} {site}</h2>
      </div>
      <div class="cf-section cf-highlight"><div class="cf-wrapper"><div class="cf-screenshot-container cf-screenshot-full"><span class="cf-no-screenshot error"></span></div></div></div>
      <div class="cf-section cf-wrapper"><div class="cf-columns two"><div class="cf-column"><h2 data-translate="blocked_why_headline">Why have I been blocked?</h2><p data-translate="blocked_why_detail">{why}</p></div><div class="cf-column"><h2 data-translate="blocked_resolve_headline">What can I do to resolve this?</h2><p data-translate="blocked_resolve_detail">{fix}</p></div></div></div>
      <div class="cf-error-footer cf-wrapper w-240 lg:w-full py-10 sm:py-4 sm:px-8 mx-auto text-center sm:text-left border-solid border-0 border-t border-gray-300"><p class="text-13"><span class="cf-footer-item sm:block sm:mb-1">Cloudflare Ray ID: <strong class="font-semibold">{ray()}</strong></span><span class="cf-footer-separator sm:hidden">&bull;</span><span id="cf-footer-item-ip" class="cf-footer-item hidden sm:block sm:mb-1">Your IP: <button type="button" id="cf-footer-ip-reveal" class="cf-footer-ip-reveal-btn">Click to reveal</button><span class="hidden" id="cf-footer-ip">{ip()}</span></span><span class="cf-footer-item sm:block sm:mb-1"><span>Performance &amp; security by</span> <a rel="noopener noreferrer" href="https://www.cloudflare.com/5xx-error-landing" id="brand_link" target="_blank">Cloudflare</a></span></p></div>
    </div>
  </div>
</body>
</html>'''
R('blocked','cloudflare-waf-block','en',403,'https://www.lawfirm-directory.org/attorneys/ohio',cfblk('Attention Required! | Cloudflare','Sorry, you have been blocked','You are unable to access','This website is using a security service to protect itself from online attacks. The action you just performed triggered the security solution. There are several actions that could trigger this block including submitting a certain word or phrase, a SQL command or malformed data.','You can email the site owner to let them know you were blocked. Please include what you were doing when this page came up and the Cloudflare Ray ID found at the bottom of this page.','lawfirm-directory.org'),CFH(),0.5)
def cf1xxx(code,title,what,do,site): return f'''<!DOCTYPE html>
<html class="no-js" lang="en-US">
<head>
<title>{title} | {site} used Cloudflare to restrict access</title>
<meta charset="UTF-8" /><meta name="robots" content="noindex, nofollow" /><meta name="viewport" content="width=device-width,initial-scale=1" />
<link rel="stylesheet" id="cf_styles-css" href="/cdn-cgi/styles/main.css" />
</head>
<body>
  <div id="cf-wrapper">
    <div id="cf-error-details" class="p-0">
      <header class="mx-auto pt-10 lg:pt-6 lg:px-8 w-240 lg:w-full mb-15 antialiased">
         <h1 class="inline-block md:block mr-2 md:mb-2 font-light text-60 md:text-3xl text-black-dark leading-tight"><span data-translate="error">Error</span> <span>{code}</span></h1>
         <span class="inline-block md:block heading-ray-id font-mono text-15 lg:text-sm lg:leading-relaxed">Ray ID: {ray()} &bull;</span>
         <span class="inline-block md:block heading-ray-id font-mono text-15">2022-0{rnd.randint(1,9)}-1{rnd.randint(0,9)} 10:1{rnd.randint(0,9)}:33 UTC</span>
        <h2 class="text-gray-600 leading-1.3 text-3xl lg:text-2xl font-light">{title}</h2>
      </header>
      <section class="w-240 lg:w-full mx-auto mb-8 lg:px-8"><div id="what-happened-section" class="w-1/2 md:w-full"><h2 class="text-3xl leading-tight font-normal mb-4 text-black-dark antialiased" data-translate="what_happened">What happened?</h2><p>{what}</p></div>{do}</section>
      <div class="py-8 text-center" id="error-feedback"><div class="error-feedback-survey">Was this page helpful? <button>Yes</button> <button>No</button></div></div>
      <div class="cf-error-footer"><p class="text-13">Cloudflare Ray ID: <strong>{ray()}</strong> &bull; Performance &amp; security by <a href="https://www.cloudflare.com/5xx-error-landing">Cloudflare</a></p></div>
    </div>
  </div>
</body></html>'''
R('blocked','cloudflare-1020','en',403,'https://www.guitar-tab-vault.com/tab/882',cf1xxx(1020,'Access denied','This website is using a security service to protect itself from online attacks.','','www.guitar-tab-vault.com'),CFH(),0.5)
R('blocked','cloudflare-1009-country','en',403,'https://www.betslip-odds.com/football',cf1xxx(1009,'Access denied','The owner of this website (www.betslip-odds.com) has banned the country or region your IP address is in (DE) from accessing this website.','','www.betslip-odds.com'),CFH(),0.5)
R('blocked','cloudflare-1010-signature','en',403,'https://api.charts-and-data.net/v1/list',cf1xxx(1010,'Access denied',"The owner of this website (api.charts-and-data.net) has banned your access based on your browser's signature ("+ray()+"-ua98).",'','api.charts-and-data.net'),CFH(),0.5)
R('blocked','cloudflare-1006-ip','en',403,'https://www.wallpaper-hq.net/4k/',cf1xxx(1006,'Access denied','The owner of this website (www.wallpaper-hq.net) has banned your IP address ('+ip()+').','','www.wallpaper-hq.net'),CFH(),0.5)
R('blocked','akamai-access-denied','en',403,'http://www.bigstore-electronics.com/tv/oled',f'''<HTML><HEAD>
<TITLE>Access Denied</TITLE>
</HEAD><BODY>
<H1>Access Denied</H1>
 
You don't have permission to access "http&#58;&#47;&#47;www&#46;bigstore&#45;electronics&#46;com&#47;tv&#47;oled" on this server.<P>
Reference&#32;&#35;18&#46;{hx(8)}&#46;{dg(10)}&#46;{hx(7)}
<P>https&#58;&#47;&#47;errors&#46;edgesuite&#46;net&#47;18&#46;{hx(8)}&#46;{dg(10)}&#46;{hx(7)}</P>
</BODY>
</HTML>''',{"Server":"AkamaiGHost","Mime-Version":"1.0","Content-Type":"text/html"},0.5)
R('blocked','cloudfront-request-blocked','en',403,'https://www.petfood-online.com.au/dogs',f'''<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN" "http://www.w3.org/TR/html4/loose.dtd">
<HTML><HEAD><META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=iso-8859-1">
<TITLE>ERROR: The request could not be satisfied</TITLE>
</HEAD><BODY>
<H1>403 ERROR</H1>
<H2>The request could not be satisfied.</H2>
<HR noshade size="1px">
Request blocked.
We can't connect to the server for this app or website at this time. There might be too much traffic or a configuration error. Try again later, or contact the app or website owner.
<BR clear="all">
If you provide content to customers through CloudFront, you can find steps to troubleshoot and help prevent this error by reviewing the CloudFront documentation.
<BR clear="all">
<HR noshade size="1px">
<PRE>
Generated by cloudfront (CloudFront)
Request ID: {b64(54)}==
</PRE>
<ADDRESS>
</ADDRESS>
</BODY></HTML>''',{"Server":"CloudFront","X-Cache":"Error from cloudfront"},0.5)
R('blocked','cloudfront-geo','en',403,'https://watch.kidstv-network.com/shows',f'''<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN" "http://www.w3.org/TR/html4/loose.dtd">
<HTML><HEAD><META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=iso-8859-1">
<TITLE>ERROR: The request could not be satisfied</TITLE>
</HEAD><BODY>
<H1>403 ERROR</H1>
<H2>The request could not be satisfied.</H2>
<HR noshade size="1px">
The Amazon CloudFront distribution is configured to block access from your country.
We can't connect to the server for this app or website at this time. There might be too much traffic or a configuration error. Try again later, or contact the app or website owner.
<BR clear="all">
<HR noshade size="1px">
<PRE>Generated by cloudfront (CloudFront)
Request ID: {b64(54)}==</PRE>
</BODY></HTML>''',{"Server":"CloudFront"},0.5)
R('blocked','wordfence-limited','en',503,'https://www.craftbrew-blog.com/ipa-guide/',f'''<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" lang="en-US">
<head>
	<title>Your access to this site has been limited</title>
	<meta http-equiv="Content-Type" content="text/html; charset=utf-8" />
	<style type="text/css">html {{font-family:"Open Sans", Helvetica, Arial, sans-serif;font-size:0.875rem;line-height:1.42857143;color:#333;background-color:#f7f7f7}}h1,h2{{font-weight:500}}.wf-block-header-logo{{width:72px}}.wf-btn{{display:inline-block;padding:0.5rem 1rem}}</style>
</head>
<body>
<h1>Your access to this site has been limited by the site owner</h1>
<p>Your access to this service has been limited. (HTTP response code 503)</p>
<p>If you think you have been blocked in error, contact the owner of this site for assistance.</p>
<table border="0" cellspacing="0" cellpadding="0"><tr><td><form method="POST" action="https://www.craftbrew-blog.com/?_wfsf=unlockEmail"><p>If you are a WordPress user with administrative privileges on this site, please enter your email address in the box below and click "Send". You will then receive an email that helps you regain access.</p><input type="text" size="50" name="email"><input type="submit" name="s" value="Send Unlock Email"></form></td></tr></table>
<h2>Block Technical Data</h2>
<table border="0" cellspacing="0" cellpadding="0" class="technical-data"><tr><th>Block Reason:</th><td>Access from your area has been temporarily limited for security reasons</td></tr><tr><th>Time:</th><td>Tue, 14 Mar 2023 8:1{rnd.randint(0,9)}:03 GMT</td></tr></table>
<h2>About Wordfence</h2>
<p>Wordfence is a security plugin installed on over 4 million WordPress sites. The owner of this site is using Wordfence to manage access to their site.</p>
<p>You can also read the documentation to learn about Wordfence's blocking tools, or visit <a href="https://www.wordfence.com">wordfence.com</a> to learn more about Wordfence.</p>
<p><em>Generated by Wordfence at Tue, 14 Mar 2023 8:12:03 GMT.<br>Your computer's time: <script type="application/javascript">document.write(new Date().toUTCString());</script>.</em></p>
</body>
</html>''',{},0.6)
R('blocked','wordfence-403','fr',403,'https://www.atelier-poterie-aude.fr/stages/','''<!DOCTYPE html><html lang="fr-FR" dir="ltr"><head><title>403 Forbidden</title><meta http-equiv="Content-Type" content="text/html; charset=utf-8" /><style>html{font-family:"Open Sans",Arial}</style></head><body><h1>403 Interdit</h1><p>Une opération potentiellement dangereuse a été détectée dans votre requête vers ce site.</p><h2>Données techniques de blocage</h2><table><tr><th>Raison du blocage :</th><td>Vous avez été temporairement bloqué pour votre activité inhabituelle</td></tr></table><p><em>Généré par Wordfence le mar, 5 sep 2023 7:03:11 GMT.</em></p></body></html>''',{},0.6)
R('blocked','sucuri-block','en',403,'https://www.churchmusic-sheets.com/hymns',f'''<!DOCTYPE html>
<html lang="en" class="no-js"><head><title>Sucuri WebSite Firewall - Access Denied</title><meta charset="utf-8" /><meta name="viewport" content="width=device-width, initial-scale=1.0" /><link rel="stylesheet" href="https://cdn.sucuri.net/sucuri-firewall-block.css" /></head>
<body><section class="center clearfix"><section class="app-header wrap"><div class="logo-neartext"></div><section class="login-ip">Website Firewall</section></section></section><section class="wrapper wrap"><div class="box"><h1 class="brand-font font-size-xtra no-margin"><i class="icon-circle-red"></i>Access Denied - Sucuri Website Firewall</h1><p class="medium-text code-snippet">If you are the site owner (or you manage this site), please whitelist your IP or if you think this block is an error please <a href="https://support.sucuri.net/support/?new" class="color-green underline">open a support ticket</a> and make sure to include the block details (displayed in the box below), so we can assist you in troubleshooting the issue.</p><h2>Block details:<p><table class="property-table overflow-break-all line-height-16"><tr><td>Your IP:</td><td><span>{ip()}</span></td></tr><tr><td>URL:</td><td><span>www.churchmusic-sheets.com/hymns</span></td></tr><tr><td>Your Browser: </td><td><span>Mozilla/5.0 (compatible; CCBot/2.0; https://commoncrawl.org/faq/)</span></td></tr><tr><td>Block ID:</td><td><span>BNP005</span></td></tr><tr><td>Block reason:</td><td><span>Bad bot access attempt.</span></td></tr><tr><td>Time:</td><td><span>2022-06-25 04:45:12</span></td></tr><tr><td>Server ID:</td><td><span>{rnd.randint(11000,19999)}</span></td></tr></table></section></section><footer><span>&copy; 2022 Sucuri Inc. All rights reserved.</span> <a href="https://sucuri.net/privacy">Privacy</a></footer></body></html>''',{"Server":"Sucuri/Cloudproxy"},0.5)
R('blocked','imperva-error-15','en',403,'https://www.insurance-quotes-now.com/auto',f'''<!DOCTYPE html><html lang="en"><head><meta charset="UTF-8"><title>Access Denied - Imperva</title><style>body{{font-family:Nunito Sans,Arial}}.error-headline{{font-size:40px}}</style></head><body><div class="page-container"><div class="page-header"><h1 class="error-headline">Access denied</h1><div class="error-code">Error 15</div></div><div class="info-header"><div class="powered-by">www.insurance-quotes-now.com</div><div>{dg(4)}-0{rnd.randint(1,9)}-12 10:01:20 UTC</div></div><div class="content"><h2>What happened?</h2><div class="description">This request was blocked by our security service</div><div class="details"><p>Your IP: {ip()}</p><p>Proxy IP: {ip()} (ID 10533-100)</p><p>Incident ID: {dg(18)}-{dg(18)}</p></div></div><div class="footer">Powered by <a href="https://www.imperva.com">Imperva</a></div></div></body></html>''',{"X-CDN":"Imperva"},0.6)
R('blocked','modsecurity-406','en',406,'http://www.stampcollectors-guild.org/wanted.php?id=12','''<head><title>Not Acceptable!</title></head><body><h1>Not Acceptable!</h1><p>An appropriate representation of the requested resource could not be found on this server. This error was generated by Mod_Security.</p></body></html>''',APA(),0.4)
R('blocked','apache-403','en',403,'http://files.physics-lab7.edu/private/','''<!DOCTYPE HTML PUBLIC "-//IETF//DTD HTML 2.0//EN">
<html><head>
<title>403 Forbidden</title>
</head><body>
<h1>Forbidden</h1>
<p>You don't have permission to access this resource.</p>
<hr>
<address>Apache/2.4.41 (Ubuntu) Server at files.physics-lab7.edu Port 80</address>
</body></html>''',APA(),0.2)
R('blocked','nginx-403','en',403,'https://www.golfclub-lakeside.com/','''<html>
<head><title>403 Forbidden</title></head>
<body>
<center><h1>403 Forbidden</h1></center>
<hr><center>nginx/1.18.0 (Ubuntu)</center>
</body>
</html>
<!-- a padding to disable MSIE and Chrome friendly error page -->
<!-- a padding to disable MSIE and Chrome friendly error page -->
<!-- a padding to disable MSIE and Chrome friendly error page -->''',NGX(),0.3)
R('blocked','iis-403','en',403,'https://intranet.harborcounty.gov/docs/','''<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">
<html xmlns="http://www.w3.org/1999/xhtml">
<head>
<meta http-equiv="Content-Type" content="text/html; charset=iso-8859-1"/>
<title>403 - Forbidden: Access is denied.</title>
<style type="text/css">
<!--
body{margin:0;font-size:.7em;font-family:Verdana, Arial, Helvetica, sans-serif;background:#EEEEEE;}
fieldset{padding:0 15px 10px 15px;} 
h1{font-size:2.4em;margin:0;color:#FFF;}
#header{width:96%;margin:0 0 0 0;padding:6px 2% 6px 2%;font-family:"trebuchet MS", Verdana, sans-serif;color:#FFF;background-color:#555555;}
-->
</style>
</head>
<body>
<div id="header"><h1>Server Error</h1></div>
<div id="content">
 <div class="content-container"><fieldset>
  <h2>403 - Forbidden: Access is denied.</h2>
  <h3>You do not have permission to view this directory or page using the credentials that you supplied.</h3>
 </fieldset></div>
</div>
</body>
</html>''',{"Server":"Microsoft-IIS/10.0"},0.3)
R('blocked','litespeed-403','en',403,'https://www.recipes-of-grandma.com/wp-json/','''<!DOCTYPE html>
<html style="height:100%">
<head>
<meta name="viewport" content="width=device-width, initial-scale=1, shrink-to-fit=no" />
<title> 403 Forbidden
</title><style>@media (prefers-color-scheme:dark){body{background-color:#000!important}}</style></head>
<body style="color: #444; margin:0;font: normal 14px/20px Arial, Helvetica, sans-serif; height:100%; background-color: #fff;">
<div style="height:auto; min-height:100%; ">     <div style="text-align: center; width:800px; margin-left: -400px; position:absolute; top: 30%; left:50%;">
        <h1 style="margin:0; font-size:150px; line-height:150px; font-weight:bold;">403</h1>
<h2 style="margin-top:20px;font-size: 30px;">Forbidden
</h2>
<p>Access to this resource on the server is denied!</p>
</div></div><div style="color:#f0f0f0; font-size:12px;margin:auto;padding:0px 30px 0px 30px;position:relative;clear:both;height:100px;margin-top:-101px;background-color:#474747;border-top: 1px solid rgba(0,0,0,0.15);box-shadow: 0 1px 0 rgba(255, 255, 255, 0.3) inset;">
<br>Proudly powered by LiteSpeed Web Server<p>Please be advised that LiteSpeed Technologies Inc. is not a web hosting company and, as such, has no control over content found on this site.</p></div></body></html>''',{"Server":"LiteSpeed"},0.3)
R('blocked','azure-frontdoor','en',403,'https://www.logistics-tracker.eu/track','''<!DOCTYPE html PUBLIC '-//W3C//DTD XHTML 1.0 Transitional//EN' 'http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd'><html xmlns='http://www.w3.org/1999/xhtml'><head><meta content='text/html; charset=utf-8' http-equiv='content-type'/><style type='text/css'>body { font-family:Arial; margin-left:40px; }img  { border:0 none; }#content { margin-left: auto; margin-right: auto }#message h2 { font-size: 20px; font-weight: normal; color: #000000; margin: 34px 0px 0px 0px }#message p  { font-size: 13px; color: #000000; margin: 7px 0px 0px0px}#errorref { font-size: 11px; color: #737373; margin-top: 41px }</style><title>Microsoft</title></head><body><div id='content'><div id='message'><h2>The request is blocked.</h2></div><div id='errorref'><span>'''+b64(40)+'''Z</span></div></div></body></html>''',{"x-azure-ref":b64(30)},0.6)
R('blocked','f5-request-rejected','en',200,'https://www.muni-utilitybill.com/pay','''<html><head><title>Request Rejected</title></head><body>The requested URL was rejected. Please consult with your administrator.<br><br>Your support ID is: '''+dg(19)+'''<br><br><a href='javascript:history.back();'>[Go Back]</a></body></html>''',{},1)
R('blocked','f5-request-rejected-es','es',200,'https://sede.ayto-villanueva.es/tramites','''<html><head><title>Petición rechazada</title><meta charset="utf-8"></head><body><img src="/img/escudo.png"><h2>La URL solicitada ha sido rechazada</h2><p>Por motivos de seguridad su petición ha sido bloqueada. Si considera que se trata de un error, póngase en contacto con el servicio de atención e indique el siguiente identificador de soporte: '''+dg(19)+'''</p><a href='javascript:history.back();'>[Volver]</a></body></html>''',{},1)
R('blocked','fortiweb','en',200,'https://portal.medisupply-group.com/catalog','''<!DOCTYPE html PUBLIC "-//W3C//DTD HTML 4.01//EN"><html><head><meta http-equiv="Content-Type" content="text/html; charset=UTF-8"><title>Web Page Blocked!</title><style type="text/css">body{height:100%;font-family:Helvetica,Arial;color:#6A6A6A;background:#ececec}.header h1{background:#ee3124;color:#fff}</style></head><body><table class="box"><tr><td class="header"><h1>Web Page Blocked!</h1></td></tr><tr><td><h2>The page cannot be displayed. Please contact the administrator for additional information.</h2><p>URL: portal.medisupply-group.com/catalog</p><p>Client IP: '''+ip()+'''</p><p>Attack ID: 20000008</p><p>Message ID: 00'''+dg(10)+'''</p></td></tr></table></body></html>''',{},0.9)
R('blocked','gdpr-451-lee','en',451,'https://www.midwest-tribune.com/sports/high-school/wrestling.html','''<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="X-UA-Compatible" content="IE=edge"><title>451: Unavailable due to legal reasons</title><style>body{margin:0;font-family:Arial,Helvetica,sans-serif;text-align:center}h1{font-size:2em;margin-top:15%}</style></head><body><h1>451: Unavailable due to legal reasons</h1><p>We recognize you are attempting to access this website from a country belonging to the European Economic Area (EEA) including the EU which enforces the <a href="https://gdpr-info.eu">General Data Protection Regulation (GDPR)</a> and therefore access cannot be granted at this time.</p><p>For any issues, contact news@midwest-tribune.com or call 319-555-0188.</p></body></html>''',{"Server":"nginx"},0.4)
R('blocked','gdpr-tronc','en',200,'https://www.baytimes-herald.com/local/','''<!DOCTYPE html><html><head><title>Bay Times-Herald is currently unavailable in your region</title><meta name="robots" content="noindex"></head><body style="font-family:Georgia,serif;max-width:640px;margin:80px auto"><img src="//www.tribpub.com/gdpr/logos/baytimes.png" alt=""><p>Unfortunately, our website is currently unavailable in most European countries. We are engaged on the issue and committed to looking at options that support our full range of digital offerings to the EU market. We continue to identify technical compliance solutions that will provide all readers with our award-winning journalism.</p></body></html>''',{},1)
R('blocked','gdpr-tv-station','en',200,'https://www.kxyz5news.com/weather','''<html><head><meta charset="utf-8"><title>Access Denied</title></head><body><div style="margin:100px auto;width:500px;text-align:center;font:16px Arial"><h2>This content is not available in your region</h2><p>KXYZ 5 is committed to protecting the privacy of its users. Due to the GDPR this site is not available to visitors located in the European Union.</p><p>© 2024 Gray Prairie Media, Inc.</p></div></body></html>''',{},1)
bn=['Home','TV','Radio','News','Sport','Kids','Live']
def bc(lang,site,url,title,main,nav): return news(lang,site,url,title,main,nav,ban=banner(lang,'onetrust'))
R('blocked','geo-broadcaster-de','de',200,'https://www.alpensender.at/player/episode/8812',bc('de','Alpensender TVthek','https://www.alpensender.at/player/episode/8812','Soko Wachau: Letzte Fahrt','''<div class="player player--geo"><div class="player__message"><svg class="icon-globe"></svg><h2>Dieses Video ist in Ihrem Land leider nicht verfügbar.</h2><p>Aus lizenzrechtlichen Gründen darf dieser Inhalt nur innerhalb Österreichs gezeigt werden.</p><a href="/hilfe/geoblocking">Mehr zum Thema Geoprotection</a></div></div>''',['Startseite','Sendung verpasst','Themen','Archive','Live'] ),{},1,True)
R('blocked','geo-iplayer-style','en',200,'https://www.britchannel.co.uk/player/p09x',bc('en','BritChannel Player','https://www.britchannel.co.uk/player/p09x','The Harbour, Series 2: Episode 4','''<section class="playback-error"><h1 class="hero__title">The Harbour</h1><div class="smp-holding"><p role="alert">BritChannel Player only works in the UK. Sorry, it’s due to rights issues.</p><p>In the UK? Here's some advice.</p><a class="btn" href="/help/outside-uk">Get help</a></div></section>''',bn),{},1,True)
R('blocked','geo-broadcaster-fr','fr',200,'https://www.tele-lac.ch/play/tv/emission/8',bc('fr','Play Télé Lac','https://www.tele-lac.ch/play/','Passe-moi les jumelles','''<div class="player-container"><div class="blocking-reason">Pour des raisons juridiques, ce contenu n’est disponible qu’en Suisse.</div><p>En savoir plus sur les <a href="/aide/geoblocage">restrictions géographiques</a>.</p></div>''',['Accueil','Info','Sport','Culture','Direct']),{},1,True)
R('blocked','geo-streaming-es','es',200,'https://play.canalsur-oeste.es/series/la-huerta',bc('es','Canal Oeste Play','https://play.canalsur-oeste.es/','La huerta | T3 E12','''<div class="vjs-error-display"><div class="vjs-modal-dialog-content">Por motivos de derechos, este contenido no está disponible en tu ubicación geográfica. (Error 4032)</div></div>''',['Inicio','Series','Informativos','Directo','Infantil']),{},1,True)
R('blocked','geo-spa-bare-sv','sv',200,'https://play.nordtv.se/program/hus-i-norr','''<!DOCTYPE html><html lang="sv"><head><meta charset="utf-8"><title>Hus i norr | NordTV Play</title><meta name="viewport" content="width=device-width"><script id="__NEXT_DATA__" type="application/json">{"props":{"pageProps":{"geoBlocked":true,"country":"DE"}},"page":"/program/[slug]","buildId":"'''+b64(21)+'''"}</script></head><body><div id="__next"><div class="sc-geo"><h2>Programmet går inte att se utanför Sverige</h2><p>Av upphovsrättsliga skäl får vi inte visa det här programmet i landet du befinner dig i.</p></div></div></body></html>''',{},1)
R('blocked','jp-region-block','ja',403,'https://www.anitv-douga.jp/watch/sm391','''<!DOCTYPE html><html lang="ja"><head><meta charset="utf-8"><title>ご利用いただけません</title></head><body><div id="contents"><h1>海外からのアクセスについて</h1><p>申し訳ございませんが、お住まいの国・地域からは本サービスをご利用いただけません。</p><p>We are sorry, but this service is available in Japan only.</p><p>日本国内からアクセスしているにもかかわらずこの画面が表示される場合は、VPN・プロキシの設定をご確認ください。</p></div></body></html>''',{},0.7)
R('blocked','agcom-seized-it','it',200,'http://www.streaming-calcio-gratis.tv/','''<html><head><meta http-equiv="Content-Type" content="text/html; charset=utf-8"><title>Sito non raggiungibile</title></head><body><center><img src="http://127.0.0.1/img/gdf.jpg"><h1>AVVISO</h1><p><b>L'accesso al presente sito è stato disabilitato in esecuzione dell'ordine dell'Autorità per le Garanzie nelle Comunicazioni (AGCOM) ai sensi del Regolamento in materia di tutela del diritto d'autore sulle reti di comunicazione elettronica, allegato A alla delibera n. 680/13/CONS.</b></p></center></body></html>''',{},1)
R('blocked','adm-gambling-it','it',200,'http://www.casino-lucky77.com/','''<!DOCTYPE html><html lang="it"><head><meta charset="utf-8"><title>Agenzia delle Dogane e dei Monopoli - Sito inibito</title></head><body><div class="box"><img src="logo_adm.png" alt="ADM"><p>In applicazione del decreto dell'Agenzia delle Dogane e dei Monopoli del 2 gennaio 2007 (Gazzetta Ufficiale n. 2 del 3 gennaio 2007) il sito richiesto non è raggiungibile poiché sprovvisto delle autorizzazioni necessarie per operare la raccolta di giochi in Italia.</p><p>L'elenco degli operatori autorizzati al gioco telematico è disponibile sul sito istituzionale www.adm.gov.it</p></div></body></html>''',{},1)
R('blocked','rkn-provider-ru','ru',200,'http://torrent-sklad.org/','''<!DOCTYPE html><html><head><meta charset="utf-8"><title>Доступ ограничен</title><style>body{font-family:Arial;text-align:center;background:#f4f4f4}.block{margin:10% auto;width:640px;background:#fff;padding:30px}</style></head><body><div class="block"><h1>Уважаемые абоненты!</h1><p>Доступ к запрашиваемому ресурсу ограничен по решению суда или по иным основаниям, установленным законодательством Российской Федерации.</p><p>Причины блокировки сайта можно узнать в <a href="http://eais.rkn.gov.ru/">Едином реестре</a> доменных имён, указателей страниц сайтов сети «Интернет» и сетевых адресов, содержащих информацию, распространение которой запрещено.</p><p>Информация взята с сайта Роскомнадзора <a href="http://www.rkn.gov.ru">www.rkn.gov.ru</a></p></div></body></html>''',{},1)
R('blocked','btk-turkey','tr',200,'http://bahis-sitesi34.com/','''<html><head><meta http-equiv="content-type" content="text/html; charset=utf-8"><title>Erişim Engellendi</title></head><body><div align="center"><p>&nbsp;</p><h2>Bu internet sitesi (bahis-sitesi34.com) hakkında Bilgi Teknolojileri ve İletişim Kurumu'nun 14/03/2022 tarih ve 490.05.01.2022.-''' +dg(6)+''' sayılı kararı bulunmakta olup, bu karar Erişim Sağlayıcıları Birliği tarafından uygulanmaktadır.</h2><p><i>The decision no. 490.05.01 dated 14/03/2022 of the Information and Communication Technologies Authority is implemented with regard to this website.</i></p></div></body></html>''',{},1)
R('blocked','kr-warning','ko',200,'http://warning.or.kr/','''<!DOCTYPE html><html lang="ko"><head><meta charset="euc-kr"><title>불법·유해정보(사이트)에 대한 차단 안내</title></head><body><div id="wrap"><h1>불법·유해정보(사이트)에 대한 차단 안내</h1><p>귀하가 접속하려고 하는 정보(사이트)에서 불법·유해 내용이 제공되고 있어 해당 정보(사이트)에 대한 접속이 차단되었음을 알려드립니다.</p><p>해당 정보(사이트)는 방송통신심의위원회의 심의를 거쳐 「방송통신위원회의 설치 및 운영에 관한 법률」에 따라 적법하게 차단된 것이오니 이에 관한 문의사항이 있으시면 아래의 담당기관으로 문의하여 주시기 바랍니다.</p><table><tr><th>사이트 분야</th><th>담당기관</th><th>전화번호</th></tr><tr><td>도박</td><td>사이버경찰청</td><td>(국번없이) 182</td></tr><tr><td>저작권</td><td>한국저작권보호원</td><td>1588-0190</td></tr></table></div></body></html>''',{},1)
R('blocked','internet-positif-id','id',200,'http://internetpositif.id/','''<!DOCTYPE html><html lang="id"><head><meta charset="utf-8"><title>Internet Positif</title></head><body style="text-align:center"><img src="/img/kominfo.png" alt="Kominfo"><h2>Mohon maaf!</h2><p>Akses ke situs ini diblokir karena tidak sesuai dengan peraturan perundang-undangan di Indonesia atau terindikasi mengandung salah satu unsur pornografi, judi, phising/malware, SARA atau PROXY.</p><p>Jika Anda merasa bahwa situs yang akan Anda buka tidak termasuk salah satu kategori di atas, silakan menghubungi aduankonten@mail.kominfo.go.id</p></body></html>''',{},1)
R('blocked','laliga-ip-es','es',200,'http://188.114.96.7/','''<html><head><meta charset="UTF-8"><title>Bloqueo</title></head><body><p>El acceso a la presente dirección IP ha sido bloqueado en cumplimiento de lo dispuesto en la Sentencia de 18 de diciembre de 2024, dictada por el Juzgado de lo Mercantil nº 6 de Barcelona en el marco del procedimiento ordinario (Materia mercantil art. 249.1.4)-1005/2024-H instado por la Liga Nacional de Fútbol Profesional y por Telefónica Audiovisual Digital, S.L.U.</p></body></html>''',{},1)
R('blocked','uk-court-order','en',200,'http://www.ukispcourtorders.co.uk/','''<!DOCTYPE html><html><head><title>Access Denied - Virgin Media style block page</title><meta charset="utf-8"></head><body><div id="main"><h1>Sorry, the page you're trying to view isn't available due to a court order</h1><p>We have received an order from the Courts requiring us to prevent access to this site in order to help protect against copyright infringement.</p><p>A full list of the court orders that apply can be found below.</p><table><tr><th>Date of Court Order</th><th>Identity of parties who obtained the Order</th></tr><tr><td>20/02/2013</td><td>Members of BPI (British Recorded Music Industry) Limited</td></tr></table></div></body></html>'''.replace(' - Virgin Media style block page',''),{},1)
R('blocked','india-dot','en',200,'http://49.44.79.236/','''<html><head><meta name="viewport" content="width=device-width"></head><body><center><br><br><font face="arial" size="4"><b>Your requested URL has been blocked as per the directions received from Department of Telecommunications, Government of India. Please contact administrator for more information.</b></font></center></body></html>''',{},1)
R('blocked','belgium-stop-page','nl',200,'http://193.191.245.26/','''<html><head><title>STOP</title><meta charset="utf-8"></head><body bgcolor="#cc0000" text="#ffffff"><center><h1>STOP!</h1><table width="80%"><tr><td valign="top"><p>U bent doorgestuurd naar deze stop-pagina omdat de website die u probeert te bezoeken inhoud aanbiedt die volgens de Belgische wetgeving als illegaal wordt beschouwd. Federal Computer Crime Unit.</p></td><td valign="top"><p>Vous avez été redirigé vers cette page stop parce que le site web que vous essayez de visiter offre des contenus considérés comme illégaux selon la législation belge.</p></td></tr></table></center></body></html>''',{},1)
R('blocked','denmark-dns-block','da',200,'http://blokering.teleudbyder.dk/','''<!doctype html><html lang="da"><head><meta charset="utf-8"><title>Denne hjemmeside er blokeret</title></head><body><h1>Adgang til hjemmesiden er blokeret</h1><p>Som internetudbyder er vi af fogedretten pålagt at blokere for adgangen til denne hjemmeside, da den medvirker til krænkelse af ophavsret.</p><p>Se i stedet, hvor du lovligt kan finde film, musik og bøger på <a href="https://sharewithcare.dk">Share With Care</a>.</p></body></html>''',{},1)
R('blocked','phpbb-banned','en',200,'https://www.modelrail-forum.net/viewforum.php?f=12',phpbb('en','Model Rail Forum','https://www.modelrail-forum.net','Information','''<div class="panel" id="message"><div class="inner"><h2 class="message-title">Information</h2><p>You have been <strong>permanently</strong> banned from this board.<br /><br />Please contact the <a href="mailto:admin@modelrail-forum.net">Board Administrator</a> for more information.<br /><br />Reason given for ban: <strong>spam bot range</strong><br /><br /><em>A ban has been issued on your IP address.</em></p></div></div>''','All scales, all eras'),{},1,True)
R('blocked','xenforo-banned','en',403,'https://www.bushcraft-talk.com/threads/knives.4412/',xenforo('en','Bushcraft Talk','https://www.bushcraft-talk.com','Oops! We ran into some problems.','''<div class="blockMessage">Your IP address has been banned. Reason: Excessive crawling</div>'''),{},0.7,True)
R('blocked','craigslist-ip','en',403,'https://cityclassifieds.org/search/apa','''<p>This IP has been automatically blocked.</p><p>If you have questions, please email: blocks-b'''+dg(10)+'''@cityclassifieds.org</p>''',{},0.6)
R('blocked','reddit-network-security','en',403,'https://www.reddit.com/r/woodworking/','''<!DOCTYPE html><html lang="en"><head><title>Blocked</title><meta name="viewport" content="width=device-width, initial-scale=1"><style>body{font:16px Verdana,Arial;background:#fff}.content{max-width:600px;margin:10vh auto}</style></head><body><div class="content"><h1>You've been blocked by network security.</h1><p>To continue, log in to your Reddit account or use your developer token</p><p>If you think you've been blocked by mistake, file a ticket below and we'll look into it.</p><a href="https://www.reddit.com/login/">Log in</a> <a href="https://support.reddithelp.com/hc/en-us/requests/new?ticket_form_id=21879292693140">File a ticket</a></div></body></html>''',{},0.6)
R('blocked','linkedin-999','en',999,'https://www.linkedin.com/in/some-person','''<html><head>
<script type="text/javascript">
window.onload = function() {
  // Parse the tracking code from cookies.
  var trk = "bf";
  var trkInfo = "bf";
  var cookies = document.cookie.split("; ");
  for (var i = 0; i < cookies.length; ++i) {
    if ((cookies[i].indexOf("trkCode=") == 0) && (cookies[i].length > 8)) {
      trk = cookies[i].substring(8);
    }
  }
  if (window.location.protocol == "http:") {
    // If "sl" cookie is set, redirect to https.
  }
  // Get the new domain. For international domains such as fr.linkedin.com, we convert it to www.linkedin.com
  var domain = location.host;
  window.location.href = "https://" + domain + "/authwall?trk=" + trk + "&trkInfo=" + trkInfo + "&original_referer=" + document.referrer.substr(0, 200) + "&sessionRedirect=" + encodeURIComponent(window.location.href);
}
</script>
</head></html>''',{},0.1)
R('blocked','arxiv-denied','en',403,'https://export.arxiv.org/abs/2101.00001','''<html><head><title>Access Denied</title></head><body><h1>Access Denied</h1><p>Sadly, your client does not supply a proper User-Agent, and is consequently excluded. We have an inordinate number of problems with automated scripts which do not supply a User-Agent, and violate the automated access guidelines posted at arxiv.org -- hence we now exclude them all.</p><p>(In rare cases, we have found that accesses through proxy servers strip the User-Agent information. If this is the case, you need to contact the administrator of your proxy server to get it fixed.)</p><p>If you believe this determination to be in error, see http://export.arxiv.org/denied.html for additional information.</p></body></html>''',{},0.6)
R('blocked','blackhole-bad-bots','en',200,'https://www.horror-fiction-archive.com/blackhole/','''<!DOCTYPE html><html lang="en-US"><head><title>You have been banned from this site.</title><meta charset="UTF-8"><meta name="robots" content="noindex,nofollow"></head><body><h1>You have been banned from this site.</h1><p>If you think there has been a mistake, <a href="/contact">contact the administrator</a> via proxy server.</p></body></html>''',{},0.8)
R('blocked','ithemes-lockout','en',403,'https://www.realtor-palmbay.com/listings','''<!DOCTYPE html><html lang="en-US"><head><meta http-equiv="Content-Type" content="text/html; charset=UTF-8" /><meta name="viewport" content="width=device-width"><title>Forbidden</title><style type="text/css">html{background:#f1f1f1}body{background:#fff;color:#444;font-family:-apple-system,BlinkMacSystemFont,"Segoe UI",sans-serif;margin:2em auto;padding:1em 2em;max-width:700px}#error-page{margin-top:50px}</style></head><body id="error-page"><div class="wp-die-message">Your IP address has been flagged as a threat by the iThemes Security network.</div></body></html>''',{},0.7)
R('blocked','aliyun-405','zh',405,'https://www.hangye-baojia.cn/search?kw=%27','''<!doctype html><html lang="zh-cn"><head><meta charset="utf-8"><title>405</title><meta name="description" content="405"><link href="https://g.alicdn.com/code/lib/css.css" rel="stylesheet"></head><body><div id="block_message"><img src="https://errors.aliyun.com/images/TB1TpamHpXXXXaJXXXXeB7nYVXX-104-162.png" alt=""><p>很抱歉,由于您访问的URL有可能对网站造成安全威胁,您的访问被阻断。</p><div id="traceid">您的请求ID是: <strong>'''+hx(30)+'''</strong></div></div><script>(new Image).src="https://g.alicdn.com"</script></body></html>''',{"Server":"Tengine"},0.6)
R('blocked','baota-firewall','zh',403,'http://www.xiaoyou-luntan.com/index.php?s=/a','''<!doctype html><html><head><meta charset="utf-8"><title>网站防火墙</title><style>*{margin:0;padding:0;color:#444}body{font-size:14px;font-family:"宋体"}.main{width:600px;margin:10% auto}.title{background:#20a53a;color:#fff;font-size:16px;height:40px;line-height:40px;padding-left:20px}</style></head><body><div class="main"><div class="title">网站防火墙</div><div class="content"><p class="t1">您的请求带有不合法参数,已被网站管理员设置拦截!</p><p class="t2">可能原因:</p><ul><li>您提交的内容包含危险的攻击请求</li></ul><p class="t3">如何解决:</p><ul><li>检查提交内容;</li><li>如网站托管,请联系空间提供商;</li><li>普通网站访客,请联系网站管理员;</li><li>这是误报,请联系宝塔 http://www.bt.cn/bbs</li></ul></div></div></body></html>''',{},0.6)
R('blocked','shop-ip-ban-de','de',200,'https://www.elektro-teilehandel.de/artikel/1721',shopware('de','Elektro-Teilehandel','https://www.elektro-teilehandel.de/','Zugriff gesperrt','''<div class="cms-page"><h1>Zugriff gesperrt</h1><p>Von Ihrer IP-Adresse wurden in kurzer Zeit ungewöhnlich viele Artikelseiten automatisiert abgerufen. Der Zugriff auf unseren Katalog ist daher für diese Adresse gesperrt.</p><p>Wenn Sie Preise oder Artikeldaten benötigen, wenden Sie sich bitte an unseren Vertrieb.</p></div>''',['Widerstände','Kondensatoren','Halbleiter','Werkzeug','Messtechnik']),{},1,True)
R('blocked','adblock-wall','en',200,'https://www.celebrity-daily-buzz.com/2022/11/red-carpet/',wp('en','Celebrity Daily Buzz','https://www.celebrity-daily-buzz.com/','Red carpet: all the looks','''<div id="adb-modal" class="adb-overlay"><div class="adb-box"><h2>Adblock detected</h2><p>It looks like you're using an ad blocker. Our content is free because of ads. Please disable your ad blocker and reload the page to continue reading.</p><button onclick="location.reload()">I've disabled it – reload</button></div></div>''',['News','Fashion','Royals','TV','Quiz'],theme='newspaper'),{},1,True)
R('blocked','unsupported-region-store','en',200,'https://www.heritage-outfitters-us.com/',"""<!DOCTYPE html><html lang="en"><head><meta charset="UTF-8"><title>Heritage Outfitters</title><style>body{background:#f4efe6;font-family:Garamond,serif;text-align:center}</style></head><body><img src="/i/crest.svg" width="120"><h1>We're sorry</h1><p>We no longer ship to your country and our online store is not accessible from your location.</p><p>Thank you for your interest in Heritage Outfitters.</p></body></html>""",{},1)
R('blocked','publisher-ip-abuse','en',403,'https://journals.scholarpress.net/doi/pdf/10.5555/1234',"""<html><head><title>Scholar Press: Access suspended</title></head><body><div id="content"><h2>Your IP Address Has Been Blocked</h2><p>Your IP Address ("""+ip()+""") has been blocked because we detected systematic downloading from it, which violates our terms of use. This affects everyone at your institution who is connecting through the same address.</p><p>If you have any questions or would like to have access restored please contact <b>onlineservice@scholarpress.net</b> and quote the address above.</p></div></body></html>""",{},0.6)
R('blocked','drupal-access-denied','en',403,'https://www.rivertrust-ngo.org/node/2231',drupal('en','River Trust','https://www.rivertrust-ngo.org','Access denied','You are not authorized to access this page.',['About','Our work','Volunteer','News','Donate']),{},0.7,True)
R('blocked','drupal-access-denied-fr','fr',403,'https://www.ecole-paysage.fr/node/812',drupal('fr','École du paysage','https://www.ecole-paysage.fr','Accès refusé',"Vous n'êtes pas autorisé(e) à accéder à cette page.",['Formations','Recherche','Admissions','Agenda']),{},0.7,True)
R('blocked','corporate-umbrella','en',200,'http://block.opendns.com/','''<html><head><title>This site is blocked.</title></head><body><div class="wrap"><img src="/umbrella.png"><h1>This site is blocked.</h1><p>www.onlinepoker-room.net</p><p>Sorry, www.onlinepoker-room.net has been blocked by your network administrator.</p><p>&gt; <a href="#">Report an incorrect block</a></p><p>&gt; <a href="#">Diagnostic Info</a></p><p>Terms | Privacy Policy | Contact</p></div></body></html>''',{},1)
R('blocked','vpn-proxy-streaming','pt',200,'https://www.filmesja.com.br/assistir/2231','''<!DOCTYPE html><html lang="pt-br"><head><meta charset="utf-8"><title>Ops! - FilmesJá</title></head><body class="dark"><div class="err"><h1>Parece que você está usando um proxy ou VPN</h1><p>Para assistir, desative qualquer serviço de VPN, desbloqueador ou proxy e tente novamente.</p><p>Código do erro: M7111-5059</p><a href="https://ajuda.filmesja.com.br">Central de Ajuda</a></div></body></html>''',{},1)
R('blocked','sanctioned-country-dev','en',403,'https://www.devcloud-tools.io/download','''<!DOCTYPE html><html><head><title>Service not available</title><meta name="viewport" content="width=device-width"></head><body><main><h1>Service is not available in your location</h1><p>Due to export control and sanctions regulations, DevCloud is unable to provide its services to users in the country or territory from which you are connecting.</p><p>If you believe this message was shown in error, contact compliance@devcloud-tools.io.</p></main></body></html>''',{},0.7)
