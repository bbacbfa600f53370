import random, html as H, re
rnd = random.Random(770311)
OUT = []
def R(label, shape, lang, status, url, html, headers=None, soft=0.6, chrome=False):
    OUT.append(dict(label=label, shape=shape, lang=lang, status=status, headers=headers or {}, url=url,
                    html=html.strip('\n'), _soft=soft, _chrome=chrome))
def C(shape, lang, url, html, headers=None, kind='ordinary', chrome=True):
    OUT.append(dict(label='content', shape=shape, lang=lang, status=200, headers=headers or {}, url=url,
                    html=html.strip('\n'), _soft=0, _chrome=chrome, _kind=kind))
def hx(n): return ''.join(rnd.choice('0123456789abcdef') for _ in range(n))
def b64(n): return ''.join(rnd.choice('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789') for _ in range(n))
def dg(n): return ''.join(rnd.choice('0123456789') for _ in range(n))
def ip(): return '.'.join(str(rnd.randint(2,253)) for _ in range(4))
def uuid(): return '-'.join(hx(k) for k in (8,4,4,4,12))
def ray(): return hx(16)
CFH = lambda r=None: {"Server":"cloudflare","CF-RAY":(r or ray())+"-"+rnd.choice(["FRA","AMS","LHR","IAD","WAW","CDG"]),"Content-Type":"text/html; charset=UTF-8"}
NGX = lambda: {"Server":rnd.choice(["nginx","nginx/1.18.0","nginx/1.24.0 (Ubuntu)"]),"Content-Type":"text/html; charset=utf-8"}
APA = lambda: {"Server":rnd.choice(["Apache","Apache/2.4.41 (Ubuntu)","Apache/2.4.57 (Debian)"]),"Content-Type":"text/html; charset=UTF-8"}
def slug(s):
    s=re.sub(r'[^\w]+','-',s.lower(),flags=re.U).strip('-'); return s or 'p'
def lis(items, cls='', acls='', base='/'):
    out=[]
    for i in items:
        if isinstance(i,tuple): t,u=i
        else: t,u=i,base+slug(i)
        out.append('<li%s><a%s href="%s">%s</a></li>'%((' class="%s"'%cls) if cls else '', (' class="%s"'%acls) if acls else '',u,t))
    return '\n'.join(out)
def ps(text): return '\n'.join('<p>%s</p>'%t.strip() for t in text.strip().split('\n') if t.strip())
def gtm():
    return "<script>(function(w,d,s,l,i){w[l]=w[l]||[];w[l].push({'gtm.start':new Date().getTime(),event:'gtm.js'});var f=d.getElementsByTagName(s)[0],j=d.createElement(s),dl=l!='dataLayer'?'&l='+l:'';j.async=true;j.src='https://www.googletagmanager.com/gtm.js?id='+i+dl;f.parentNode.insertBefore(j,f);})(window,document,'script','dataLayer','GTM-%s');</script>"%b64(7).upper()
def ga():
    i='G-'+b64(10).upper()
    return '<script async src="https://www.googletagmanager.com/gtag/js?id=%s"></script>\n<script>window.dataLayer=window.dataLayer||[];function gtag(){dataLayer.push(arguments);}gtag("js",new Date());gtag("config","%s");</script>'%(i,i)
def matomo(host):
    return '<script>var _paq=window._paq=window._paq||[];_paq.push(["trackPageView"]);_paq.push(["enableLinkTracking"]);(function(){var u="//stats.%s/";_paq.push(["setTrackerUrl",u+"matomo.php"]);_paq.push(["setSiteId","1"]);var d=document,g=d.createElement("script"),s=d.getElementsByTagName("script")[0];g.async=true;g.src=u+"matomo.js";s.parentNode.insertBefore(g,s);})();</script>'%host
def og(title,url,site): return '<meta property="og:title" content="%s"><meta property="og:type" content="website"><meta property="og:url" content="%s"><meta property="og:site_name" content="%s">'%(title,url,site)

BANNER={
'en':('We use cookies to give you the best experience on our website. By clicking “Accept all” you agree to the storing of cookies on your device.','Accept all','Manage settings'),
'de':('Wir verwenden Cookies, um Ihnen ein optimales Nutzererlebnis zu bieten. Weitere Informationen finden Sie in unserer Datenschutzerklärung.','Alle akzeptieren','Nur notwendige'),
'fr':('Nous utilisons des cookies pour améliorer votre expérience et mesurer l’audience de notre site.','Tout accepter','Paramétrer'),
'es':('Utilizamos cookies propias y de terceros para analizar nuestros servicios y mostrarle publicidad relacionada con sus preferencias.','Aceptar','Configurar'),
'it':('Questo sito utilizza cookie tecnici e, previo consenso, cookie di profilazione di terze parti.','Accetta','Personalizza'),
'nl':('Wij gebruiken cookies om onze website te verbeteren en het verkeer te analyseren.','Akkoord','Instellingen'),
'pl':('Ta strona używa plików cookies w celach statystycznych i funkcjonalnych.','Akceptuję','Ustawienia'),
'pt':('Utilizamos cookies para melhorar a sua experiência de navegação.','Aceitar','Preferências'),
'sv':('Vi använder cookies för att förbättra din upplevelse på webbplatsen.','Godkänn alla','Inställningar'),
'cs':('Tento web používá soubory cookie. Dalším procházením tohoto webu vyjadřujete souhlas s jejich používáním.','Rozumím','Nastavení'),
'da':('Vi bruger cookies til statistik og til at forbedre din oplevelse.','Tillad alle','Indstillinger'),
'fi':('Käytämme evästeitä parantaaksemme sivuston käyttökokemusta.','Hyväksy kaikki','Asetukset'),
'ru':('Мы используем файлы cookie, чтобы сайт работал лучше. Продолжая пользоваться сайтом, вы соглашаетесь с этим.','Хорошо','Подробнее'),
}
def banner(lang,kind='custom'):
    t,a,m=BANNER.get(lang,BANNER['en'])
    if kind=='onetrust': return '<div id="onetrust-consent-sdk"><div class="onetrust-pc-dark-filter ot-hide"></div><div id="onetrust-banner-sdk" class="otFlat bottom" role="region"><div class="ot-sdk-container"><div id="onetrust-policy"><p id="onetrust-policy-text">%s</p></div><div id="onetrust-button-group"><button id="onetrust-pc-btn-handler">%s</button><button id="onetrust-accept-btn-handler">%s</button></div></div></div></div>'%(t,m,a)
    if kind=='borlabs': return '<div data-nosnippet><script id="BorlabsCookieBoxWrap" type="text/template"><div id="BorlabsCookieBox" class="BorlabsCookie" role="dialog"><p>%s</p><a href="#" data-cookie-accept>%s</a><a href="#" data-cookie-refuse>%s</a></div></script></div>'%(t,a,m)
    if kind=='cli': return '<div id="cookie-law-info-bar" data-nosnippet="true"><span>%s <a role="button" id="cookie_action_close_header" class="medium cli-plugin-button cli-plugin-main-button">%s</a> <a role="button" class="cli_settings_button">%s</a></span></div>'%(t,a,m)
    return '<div class="cookie-notice" role="dialog" aria-live="polite"><p>%s</p><button type="button" class="btn btn-accept">%s</button> <button type="button" class="btn btn-link">%s</button></div>'%(t,a,m)

def host(url): return re.sub(r'^https?://([^/]+).*$',r'\1',url,flags=re.S)

L={ # small words
'en':dict(search='Search',cart='Cart',login='Log in',reg='Register',menu='Menu',skip='Skip to content',news='Newsletter',email='E-mail address',sub='Subscribe',imp='Imprint',priv='Privacy policy',terms='Terms',contact='Contact',rights='All rights reserved.'),
'de':dict(search='Suche',cart='Warenkorb',login='Anmelden',reg='Registrieren',menu='Menü',skip='Zum Inhalt springen',news='Newsletter',email='E-Mail-Adresse',sub='Abonnieren',imp='Impressum',priv='Datenschutz',terms='AGB',contact='Kontakt',rights='Alle Rechte vorbehalten.'),
'fr':dict(search='Rechercher',cart='Panier',login='Connexion',reg='S’inscrire',menu='Menu',skip='Aller au contenu',news='Newsletter',email='Votre adresse e-mail',sub='S’abonner',imp='Mentions légales',priv='Politique de confidentialité',terms='CGV',contact='Contact',rights='Tous droits réservés.'),
'es':dict(search='Buscar',cart='Carrito',login='Iniciar sesión',reg='Registrarse',menu='Menú',skip='Saltar al contenido',news='Boletín',email='Correo electrónico',sub='Suscribirse',imp='Aviso legal',priv='Política de privacidad',terms='Condiciones',contact='Contacto',rights='Todos los derechos reservados.'),
'it':dict(search='Cerca',cart='Carrello',login='Accedi',reg='Registrati',menu='Menu',skip='Vai al contenuto',news='Newsletter',email='Indirizzo email',sub='Iscriviti',imp='Note legali',priv='Privacy',terms='Condizioni di vendita',contact='Contatti',rights='Tutti i diritti riservati.'),
'nl':dict(search='Zoeken',cart='Winkelwagen',login='Inloggen',reg='Registreren',menu='Menu',skip='Naar inhoud',news='Nieuwsbrief',email='E-mailadres',sub='Aanmelden',imp='Colofon',priv='Privacyverklaring',terms='Voorwaarden',contact='Contact',rights='Alle rechten voorbehouden.'),
'pl':dict(search='Szukaj',cart='Koszyk',login='Zaloguj się',reg='Zarejestruj się',menu='Menu',skip='Przejdź do treści',news='Newsletter',email='Adres e-mail',sub='Zapisz się',imp='O nas',priv='Polityka prywatności',terms='Regulamin',contact='Kontakt',rights='Wszelkie prawa zastrzeżone.'),
'pt':dict(search='Pesquisar',cart='Carrinho',login='Entrar',reg='Cadastre-se',menu='Menu',skip='Pular para o conteúdo',news='Newsletter',email='Seu e-mail',sub='Assinar',imp='Sobre nós',priv='Política de privacidade',terms='Termos de uso',contact='Contato',rights='Todos os direitos reservados.'),
'sv':dict(search='Sök',cart='Varukorg',login='Logga in',reg='Bli medlem',menu='Meny',skip='Hoppa till innehåll',news='Nyhetsbrev',email='E-postadress',sub='Prenumerera',imp='Om oss',priv='Integritetspolicy',terms='Köpvillkor',contact='Kontakt',rights='Alla rättigheter förbehållna.'),
'cs':dict(search='Hledat',cart='Košík',login='Přihlásit se',reg='Registrace',menu='Menu',skip='Přejít k obsahu',news='Newsletter',email='E-mail',sub='Odebírat',imp='O nás',priv='Ochrana osobních údajů',terms='Obchodní podmínky',contact='Kontakty',rights='Všechna práva vyhrazena.'),
'da':dict(search='Søg',cart='Kurv',login='Log ind',reg='Opret bruger',menu='Menu',skip='Gå til indhold',news='Nyhedsbrev',email='E-mail',sub='Tilmeld',imp='Om os',priv='Privatlivspolitik',terms='Handelsbetingelser',contact='Kontakt',rights='Alle rettigheder forbeholdes.'),
'fi':dict(search='Haku',cart='Ostoskori',login='Kirjaudu sisään',reg='Rekisteröidy',menu='Valikko',skip='Siirry sisältöön',news='Uutiskirje',email='Sähköposti',sub='Tilaa',imp='Tietoa meistä',priv='Tietosuojaseloste',terms='Toimitusehdot',contact='Yhteystiedot',rights='Kaikki oikeudet pidätetään.'),
'no':dict(search='Søk',cart='Handlekurv',login='Logg inn',reg='Registrer deg',menu='Meny',skip='Hopp til innhold',news='Nyhetsbrev',email='E-post',sub='Meld på',imp='Om oss',priv='Personvern',terms='Vilkår',contact='Kontakt',rights='Alle rettigheter reservert.'),
'ru':dict(search='Поиск',cart='Корзина',login='Войти',reg='Регистрация',menu='Меню',skip='Перейти к содержимому',news='Рассылка',email='Ваш e-mail',sub='Подписаться',imp='О компании',priv='Политика конфиденциальности',terms='Пользовательское соглашение',contact='Контакты',rights='Все права защищены.'),
'uk':dict(search='Пошук',cart='Кошик',login='Увійти',reg='Реєстрація',menu='Меню',skip='Перейти до вмісту',news='Розсилка',email='Ваш e-mail',sub='Підписатися',imp='Про нас',priv='Політика конфіденційності',terms='Умови використання',contact='Контакти',rights='Усі права захищено.'),
'tr':dict(search='Ara',cart='Sepetim',login='Giriş Yap',reg='Üye Ol',menu='Menü',skip='İçeriğe geç',news='E-bülten',email='E-posta adresiniz',sub='Abone ol',imp='Hakkımızda',priv='Gizlilik Politikası',terms='Kullanım Koşulları',contact='İletişim',rights='Tüm hakları saklıdır.'),
'ja':dict(search='検索',cart='カート',login='ログイン',reg='新規会員登録',menu='メニュー',skip='本文へ',news='メールマガジン',email='メールアドレス',sub='登録',imp='会社概要',priv='プライバシーポリシー',terms='利用規約',contact='お問い合わせ',rights='All Rights Reserved.'),
'zh':dict(search='搜索',cart='购物车',login='登录',reg='注册',menu='菜单',skip='跳到内容',news='订阅',email='电子邮箱',sub='订阅',imp='关于我们',priv='隐私政策',terms='服务条款',contact='联系我们',rights='版权所有'),
'ko':dict(search='검색',cart='장바구니',login='로그인',reg='회원가입',menu='메뉴',skip='본문 바로가기',news='뉴스레터',email='이메일',sub='구독',imp='회사소개',priv='개인정보처리방침',terms='이용약관',contact='고객센터',rights='All rights reserved.'),
'hu':dict(search='Keresés',cart='Kosár',login='Bejelentkezés',reg='Regisztráció',menu='Menü',skip='Ugrás a tartalomhoz',news='Hírlevél',email='E-mail cím',sub='Feliratkozás',imp='Impresszum',priv='Adatvédelem',terms='ÁSZF',contact='Kapcsolat',rights='Minden jog fenntartva.'),
'ro':dict(search='Caută',cart='Coș',login='Autentificare',reg='Înregistrare',menu='Meniu',skip='Sari la conținut',news='Newsletter',email='Adresa de e-mail',sub='Abonează-te',imp='Despre noi',priv='Politica de confidențialitate',terms='Termeni și condiții',contact='Contact',rights='Toate drepturile rezervate.'),
'el':dict(search='Αναζήτηση',cart='Καλάθι',login='Σύνδεση',reg='Εγγραφή',menu='Μενού',skip='Μετάβαση στο περιεχόμενο',news='Newsletter',email='Το email σας',sub='Εγγραφή',imp='Ταυτότητα',priv='Πολιτική απορρήτου',terms='Όροι χρήσης',contact='Επικοινωνία',rights='Με την επιφύλαξη παντός δικαιώματος.'),
'ar':dict(search='بحث',cart='السلة',login='تسجيل الدخول',reg='إنشاء حساب',menu='القائمة',skip='تخطي إلى المحتوى',news='النشرة البريدية',email='البريد الإلكتروني',sub='اشترك',imp='من نحن',priv='سياسة الخصوصية',terms='شروط الاستخدام',contact='اتصل بنا',rights='جميع الحقوق محفوظة.'),
'vi':dict(search='Tìm kiếm',cart='Giỏ hàng',login='Đăng nhập',reg='Đăng ký',menu='Menu',skip='Tới nội dung',news='Bản tin',email='Email của bạn',sub='Đăng ký',imp='Giới thiệu',priv='Chính sách bảo mật',terms='Điều khoản',contact='Liên hệ',rights='Bảo lưu mọi quyền.'),
}
def w(lang): return L.get(lang,L['en'])
def yr(): return rnd.randint(2018,2026)

# ---------------- site chromes ----------------
def wp(lang,site,url,title,main,nav,foot=(),sidebar='',cls='',ban='',extra_head='',theme='astra'):
    d=w(lang); b='https://'+host(url); be=b.replace('/','\\/')
    return f'''<!DOCTYPE html>
<html lang="{lang}">
<head>
<meta charset="UTF-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="profile" href="https://gmpg.org/xfn/11">
<title>{title} – {site}</title>
<meta name='robots' content='max-image-preview:large' />
<link rel="alternate" type="application/rss+xml" title="{site} &raquo; Feed" href="{b}/feed/" />
<script>
window._wpemojiSettings = {{"baseUrl":"https:\\/\\/s.w.org\\/images\\/core\\/emoji\\/14.0.0\\/72x72\\/","ext":".png","svgUrl":"https:\\/\\/s.w.org\\/images\\/core\\/emoji\\/14.0.0\\/svg\\/","svgExt":".svg","source":{{"concatemoji":"{be}\\/wp-includes\\/js\\/wp-emoji-release.min.js?ver=6.{rnd.randint(0,7)}"}}}};
</script>
<style>img.wp-smiley,img.emoji{{display:inline!important;border:none!important;box-shadow:none!important;height:1em!important;width:1em!important}}</style>
<link rel='stylesheet' id='wp-block-library-css' href='{b}/wp-includes/css/dist/block-library/style.min.css?ver=6.{rnd.randint(0,7)}' media='all' />
<link rel='stylesheet' id='{theme}-theme-css-css' href='{b}/wp-content/themes/{theme}/assets/css/minified/main.min.css?ver=4.{rnd.randint(0,9)}.{rnd.randint(0,9)}' media='all' />
<script src='{b}/wp-includes/js/jquery/jquery.min.js?ver=3.7.1' id='jquery-core-js'></script>
<link rel="https://api.w.org/" href="{b}/wp-json/" />
<meta name="generator" content="WordPress 6.{rnd.randint(0,7)}" />
{extra_head}
</head>
<body class="{cls or 'page-template-default page'} wp-custom-logo ast-desktop {theme}-theme">
<a class="skip-link screen-reader-text" href="#content">{d['skip']}</a>
<div class="hfeed site" id="page">
<header class="site-header" id="masthead" itemscope itemtype="https://schema.org/WPHeader"><div class="site-branding"><a href="{b}/" class="custom-logo-link" rel="home"><img src="{b}/wp-content/uploads/logo.png" class="custom-logo" alt="{site}"></a><p class="site-title"><a href="{b}/">{site}</a></p></div>
<nav id="primary-site-navigation" class="main-navigation"><button class="menu-toggle">{d['menu']}</button><ul id="primary-menu" class="main-header-menu">
{lis(nav,'menu-item menu-item-type-post_type','menu-link',b+'/')}
</ul></nav></header>
<div id="content" class="site-content"><div class="ast-container">
<div id="primary" class="content-area primary"><main id="main" class="site-main">
{main}
</main></div>
{('<div class="widget-area secondary" id="secondary"><aside class="sidebar-main">'+sidebar+'</aside></div>') if sidebar else ''}
</div></div>
<footer class="site-footer" id="colophon"><div class="ast-small-footer-wrap"><ul class="footer-menu">
{lis(foot or [d['imp'],d['priv'],d['contact']],'menu-item','',b+'/')}
</ul><p>Copyright &copy; {yr()} {site}</p></div></footer>
</div>
{ban}
<script src='{b}/wp-content/themes/{theme}/assets/js/minified/frontend.min.js?ver=4.1' id='{theme}-theme-js-js'></script>
</body>
</html>'''

def shopify(lang,site,url,title,main,nav,foot=(),ban=''):
    d=w(lang); b='https://'+host(url)
    return f'''<!doctype html>
<html class="no-js" lang="{lang}">
<head>
<meta charset="utf-8"><meta http-equiv="X-UA-Compatible" content="IE=edge"><meta name="viewport" content="width=device-width,initial-scale=1">
<link rel="canonical" href="{url}"><link rel="preconnect" href="https://cdn.shopify.com" crossorigin>
<title>{title} &ndash; {site}</title>
{og(title,url,site)}
<script>window.performance && window.performance.mark && window.performance.mark('shopify.content_for_header.start');</script><meta id="shopify-digital-wallet" name="shopify-digital-wallet" content="/{dg(11)}/digital_wallets/dialog">
<script id="shopify-features" type="application/json">{{"accessToken":"{hx(32)}","betas":["rich-media-storefront-analytics"],"domain":"{host(url)}","predictiveSearch":true,"shopId":{dg(11)},"locale":"{lang}"}}</script>
<script>var Shopify = Shopify || {{}};Shopify.shop = "{slug(site)}.myshopify.com";Shopify.locale = "{lang}";Shopify.currency = {{"active":"EUR","rate":"1.0"}};Shopify.theme = {{"name":"Dawn","id":{dg(12)},"schema_name":"Dawn","schema_version":"9.0.0","theme_store_id":887,"role":"main"}};</script>
<link href="//{host(url)}/cdn/shop/t/3/assets/base.css?v={dg(20)}" rel="stylesheet" type="text/css" media="all" />
<script>document.documentElement.className = document.documentElement.className.replace('no-js', 'js');</script>
</head>
<body class="gradient">
<a class="skip-to-content-link button visually-hidden" href="#MainContent">{d['skip']}</a>
<div id="shopify-section-announcement-bar" class="shopify-section"><div class="announcement-bar" role="region"><p class="announcement-bar__message h5">{dict(de='Kostenloser Versand ab 50 €',fr='Livraison offerte dès 60 €',es='Envío gratis a partir de 49 €',it='Spedizione gratuita da 59 €',nl='Gratis verzending vanaf € 50',sv='Fri frakt över 499 kr').get(lang,'Free shipping on orders over $75')}</p></div></div>
<header class="header header--middle-left page-width header--has-menu"><h1 class="header__heading"><a href="/" class="header__heading-link link"><span class="h2">{site}</span></a></h1><nav class="header__inline-menu"><ul class="list-menu list-menu--inline" role="list">
{lis(nav,'','header__menu-item list-menu__item link focus-inset','/collections/')}
</ul></nav><div class="header__icons"><a href="/search" class="header__icon">{d['search']}</a><a href="/account/login" class="header__icon header__icon--account"><span class="visually-hidden">{d['login']}</span></a><a href="/cart" class="header__icon header__icon--cart" id="cart-icon-bubble"><span class="visually-hidden">{d['cart']}</span></a></div></header>
<main id="MainContent" class="content-for-layout focus-none" role="main" tabindex="-1">
{main}
</main>
<footer class="footer color-background-1 gradient section-footer-padding"><div class="footer__content-top page-width"><div class="footer-block footer-block--menu"><ul class="footer-block__details-content list-unstyled">
{lis(foot or [d['search'],d['contact'],d['priv'],d['terms']],'','link link--text list-menu__item','/pages/')}
</ul></div><div class="footer-block__newsletter"><h2 class="footer-block__heading">{d['news']}</h2><form method="post" action="/contact#ContactFooter" class="footer__newsletter newsletter-form"><input type="hidden" name="form_type" value="customer"><input type="email" name="contact[email]" class="field__input" placeholder="{d['email']}"><button type="submit" class="newsletter-form__button">{d['sub']}</button></form></div></div>
<div class="footer__copyright caption"><small class="copyright__content">&copy; {yr()}, <a href="/">{site}</a></small> <small><a target="_blank" rel="nofollow" href="https://www.shopify.com">Powered by Shopify</a></small></div></footer>
{ban}
</body>
</html>'''

def magento(lang,site,url,title,main,nav,foot=(),ban='',cls='cms-page-view'):
    d=w(lang); b='https://'+host(url)
    return f'''<!doctype html>
<html lang="{lang}">
<head prefix="og: http://ogp.me/ns#">
<script>var BASE_URL='{b}/';var require={{'baseUrl':'{b}/static/version{dg(10)}/frontend/Smartwave/porto/{lang}'}};</script>
<meta charset="utf-8"/><meta name="title" content="{title}"/><meta name="robots" content="INDEX,FOLLOW"/><meta name="viewport" content="width=device-width, initial-scale=1"/>
<title>{title}</title>
<link rel="stylesheet" type="text/css" media="all" href="{b}/static/version{dg(10)}/_cache/merged/{hx(32)}.css" />
<script type="text/javascript" src="{b}/static/version{dg(10)}/_cache/merged/{hx(32)}.js"></script>
{gtm()}
</head>
<body data-container="body" data-mage-init='{{"loaderAjax": {{}}, "loader": {{ "icon": "{b}/static/images/loader-2.gif"}}}}' id="html-body" class="{cls} page-layout-1column">
<noscript><div class="message global noscript"><div class="content"><p><strong>JavaScript seems to be disabled in your browser.</strong> <span>For the best experience on our site, be sure to turn on Javascript in your browser.</span></p></div></div></noscript>
<div class="page-wrapper"><header class="page-header"><div class="panel wrapper"><div class="panel header"><a class="action skip contentarea" href="#contentarea"><span>{d['skip']}</span></a><ul class="header links"><li class="authorization-link"><a href="{b}/customer/account/login/">{d['login']}</a></li><li><a href="{b}/customer/account/create/">{d['reg']}</a></li></ul></div></div>
<div class="header content"><a class="logo" href="{b}/"><img src="{b}/media/logo/default/logo.svg" alt="{site}"/></a><div data-block="minicart" class="minicart-wrapper"><a class="action showcart" href="{b}/checkout/cart/"><span class="text">{d['cart']}</span><span class="counter qty empty"><span class="counter-number">0</span></span></a></div><div class="block block-search"><form class="form minisearch" id="search_mini_form" action="{b}/catalogsearch/result/" method="get"><input id="search" type="text" name="q" placeholder="{d['search']}" class="input-text" maxlength="128"/></form></div></div></header>
<div class="sections nav-sections"><nav class="navigation" data-action="navigation"><ul>
{lis(nav,'level0 nav level-top','level-top',b+'/')}
</ul></nav></div>
<main id="maincontent" class="page-main"><a id="contentarea" tabindex="-1"></a>
{main}
</main>
<footer class="page-footer"><div class="footer content"><div class="block newsletter"><form class="form subscribe" action="{b}/newsletter/subscriber/new/" method="post"><label for="newsletter">{d['news']}</label><input name="email" type="email" id="newsletter" placeholder="{d['email']}"/><button class="action subscribe primary" type="submit"><span>{d['sub']}</span></button></form></div><ul class="footer links">
{lis(foot or [d['imp'],d['priv'],d['terms'],d['contact']],'nav item','',b+'/')}
</ul></div><small class="copyright"><span>© {yr()} {site}. {d['rights']}</span></small></footer></div>
{ban}
</body></html>'''

def shopware(lang,site,url,title,main,nav,foot=(),ban=''):
    d=w(lang); b='https://'+host(url)
    return f'''<!DOCTYPE html>
<html lang="{lang}-{lang.upper()}" itemscope="itemscope" itemtype="https://schema.org/WebPage">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1, shrink-to-fit=no"><meta name="robots" content="index,follow"><meta name="author" content=""/>
<title>{title} | {site}</title>
<link rel="stylesheet" href="{b}/theme/{hx(32)}/css/all.css?{dg(10)}">
<script>window.features = {{"V6_5_0_0":true}};window.useDefaultCookieConsent = true;window.router = {{"frontend.cart.offcanvas":"\\/checkout\\/offcanvas","frontend.cookie.offcanvas":"\\/cookie\\/offcanvas"}};</script>
</head>
<body class="is-ctl-navigation is-act-index">
<noscript class="noscript-main"><div role="alert" class="alert alert-info alert-has-icon"><div class="alert-content">Um unseren Shop in vollem Umfang nutzen zu können, empfehlen wir Ihnen Javascript in Ihrem Browser zu aktivieren.</div></div></noscript>
<header class="header-main"><div class="container"><div class="top-bar d-none d-lg-block"><nav class="top-bar-nav"></nav></div><div class="row align-items-center header-row"><div class="col-12 col-lg-auto header-logo-col"><a class="header-logo-main-link" href="/" title="Zur Startseite gehen"><img src="{b}/media/logo.svg" alt="Zur Startseite gehen" class="img-fluid header-logo-main-img"/></a></div><div class="header-search"><form action="/search" method="get" class="header-search-form"><input type="search" name="search" class="form-control header-search-input" placeholder="Suchbegriff eingeben ..." aria-label="Suchbegriff eingeben ..."></form></div><div class="account-menu"><a href="/account">Mein Konto</a><ul class="account-menu-inner"><li><a href="/account/login">{d['login']}</a> oder <a href="/account/login">registrieren</a></li></ul></div><a class="btn header-cart-btn" href="/checkout/cart" title="Warenkorb"><span class="header-cart-total">0,00 €*</span></a></div></div></header>
<div class="nav-main"><div class="main-navigation" id="mainNavigation" data-flyout-menu="true"><nav class="nav main-navigation-menu">{''.join('<a class="nav-link main-navigation-link" href="/%s/" itemprop="url" title="%s"><div class="main-navigation-link-text"><span itemprop="name">%s</span></div></a>'%(slug(n),n,n) for n in nav)}</nav></div></div>
<main class="content-main"><div class="flashbags container"></div><div class="container-main">
{main}
</div></main>
<footer class="footer-main"><div class="container"><div class="footer-columns row"><div class="col-md-4 footer-column"><div class="footer-column-headline footer-headline">Service-Hotline</div><p>Unterstützung und Beratung unter:<br><a href="tel:+49{dg(9)}">0{dg(3)} - {dg(6)}</a><br>Mo-Fr, 09:00 - 17:00 Uhr</p></div><div class="col-md-4 footer-column"><ul class="list-unstyled">{lis(foot or ['Versand und Zahlung','Widerrufsrecht','Datenschutz','AGB','Impressum'],'footer-link-item','footer-link')}</ul></div></div></div><div class="footer-bottom"><div class="container footer-vat"><p>* Alle Preise inkl. gesetzl. Mehrwertsteuer zzgl. <a href="/versand">Versandkosten</a> und ggf. Nachnahmegebühren, wenn nicht anders angegeben.</p></div><div class="footer-copyright">Realisiert mit Shopware</div></div></footer>
{ban}
</body></html>'''

def phpbb(lang,site,url,title,main,desc='',crumbs=()):
    d=w(lang)
    t=dict(de=('FAQ','Foren-Übersicht','Alle Cookies löschen','Alle Zeiten sind','Schnellzugriff'),fr=('FAQ','Index du forum','Supprimer les cookies','Le fuseau horaire est réglé sur','Raccourcis'),es=('FAQ','Índice general','Borrar cookies','Todos los horarios son','Enlaces rápidos'),pl=('FAQ','Strona główna forum','Usuń ciasteczka witryny','Strefa czasowa','Więcej…'),nl=('Help','Forumoverzicht','Verwijder cookies','Alle tijden zijn','Snelle links'),it=('FAQ','Indice','Cancella cookie','Tutti gli orari sono','Collegamenti Rapidi')).get(lang,('FAQ','Board index','Delete cookies','All times are','Quick links'))
    return f'''<!DOCTYPE html>
<html dir="ltr" lang="{lang}">
<head>
<meta charset="utf-8" /><meta http-equiv="X-UA-Compatible" content="IE=edge"><meta name="viewport" content="width=device-width, initial-scale=1" />
<title>{site} - {title}</title>
<link href="./assets/css/font-awesome.min.css?assets_version={rnd.randint(2,99)}" rel="stylesheet"><link href="./styles/prosilver/theme/stylesheet.css?assets_version={rnd.randint(2,99)}" rel="stylesheet">
</head>
<body id="phpbb" class="nojs notouch section-viewtopic ltr ">
<div id="wrap" class="wrap"><a id="top" class="top-anchor" accesskey="t"></a>
<div id="page-header"><div class="headerbar" role="banner"><div class="inner"><div id="site-description" class="site-description"><a id="logo" class="logo" href="./index.php" title="{t[1]}"><span class="site_logo"></span></a><h1>{site}</h1><p>{desc}</p><p class="skiplink"><a href="#start_here">{d['skip']}</a></p></div><div id="search-box" class="search-box search-header" role="search"><form action="./search.php" method="get" id="search"><fieldset><input name="keywords" id="keywords" type="search" maxlength="128" class="inputbox search tiny" size="20" placeholder="{d['search']}…" /></fieldset></form></div></div></div>
<div class="navbar" role="navigation"><div class="inner"><ul id="nav-main" class="nav-main linklist" role="menubar"><li id="quick-links" class="quick-links dropdown-container responsive-menu hidden"><a href="#" class="dropdown-trigger"><span>{t[4]}</span></a></li><li data-skip-responsive="true"><a href="/app.php/help/faq" rel="help"><span>{t[0]}</span></a></li><li class="rightside" data-skip-responsive="true"><a href="./ucp.php?mode=login" accesskey="x" role="menuitem"><span>{d['login']}</span></a></li><li class="rightside" data-skip-responsive="true"><a href="./ucp.php?mode=register" role="menuitem"><span>{d['reg']}</span></a></li></ul><ul id="nav-breadcrumbs" class="nav-breadcrumbs linklist navlinks" role="menubar"><li class="breadcrumbs"><span class="crumb"><a href="./index.php"><span>{t[1]}</span></a></span>{''.join('<span class="crumb"><a href="./viewforum.php?f=%d"><span>%s</span></a></span>'%(rnd.randint(2,40),c) for c in crumbs)}</li></ul></div></div></div>
<a id="start_here" class="anchor"></a>
<div id="page-body" class="page-body" role="main">
{main}
</div>
<div id="page-footer" class="page-footer" role="contentinfo"><div class="navbar" role="navigation"><div class="inner"><ul id="nav-footer" class="nav-footer linklist" role="menubar"><li class="breadcrumbs"><span class="crumb"><a href="./index.php">{t[1]}</a></span></li><li class="rightside">{t[3]} <span title="UTC+1">UTC+01:00</span></li><li class="rightside"><a href="/app.php/user/delete_cookies">{t[2]}</a></li></ul></div></div>
<div class="copyright"><p class="footer-row"><span class="footer-copyright">Powered by <a href="https://www.phpbb.com/">phpBB</a>&reg; Forum Software &copy; phpBB Limited</span></p></div></div>
</div>
<script src="./assets/javascript/jquery-3.6.0.min.js?assets_version=3"></script>
</body></html>'''

def xenforo(lang,site,url,title,main,nav=('Forums',"What's new",'Media','Members')):
    d=w(lang)
    return f'''<!DOCTYPE html>
<html id="XF" lang="{lang}" dir="LTR" data-app="public" data-template="message_page" data-container-key="" data-content-key="" data-logged-in="false" data-cookie-prefix="xf_" data-csrf="{dg(10)},{hx(32)}" class="has-no-js template-message_page">
<head><meta charset="utf-8" /><meta http-equiv="X-UA-Compatible" content="IE=Edge" /><meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
<title>{title} | {site}</title>
<link rel="stylesheet" href="/css.php?css=public%3Anormalize.css%2Cpublic%3Acore.less%2Cpublic%3Aapp.less&amp;s=1&amp;l=1&amp;d={dg(10)}&amp;k={hx(40)}" />
<script src="/js/xf/preamble.min.js?_v={hx(8)}"></script></head>
<body data-template="message_page">
<div class="p-pageWrapper" id="top"><header class="p-header" id="header"><div class="p-header-inner"><div class="p-header-content"><div class="p-header-logo p-header-logo--image"><a href="/"><img src="/styles/default/xenforo/logo.png" alt="{site}" /></a></div></div></div></header>
<div class="p-navSticky p-navSticky--primary" data-xf-init="sticky-header"><nav class="p-nav"><div class="p-nav-inner"><div class="p-nav-scroller hScroller"><ul class="p-nav-list js-offCanvasNavSource">
{''.join('<li><div class="p-navEl"><a href="/%s/" class="p-navEl-link">%s</a></div></li>'%(slug(n),n) for n in nav)}
</ul></div><div class="p-nav-opposite"><div class="p-navgroup p-account p-navgroup--guest"><a href="/login/" class="p-navgroup-link p-navgroup-link--textual p-navgroup-link--logIn" data-xf-click="overlay"><span class="p-navgroup-linkText">{d['login']}</span></a><a href="/register/" class="p-navgroup-link p-navgroup-link--textual p-navgroup-link--register"><span class="p-navgroup-linkText">{d['reg']}</span></a></div><div class="p-navgroup p-discovery"><a href="/search/" class="p-navgroup-link p-navgroup-link--iconic p-navgroup-link--search"><span>{d['search']}</span></a></div></div></div></nav></div>
<div class="p-body"><div class="p-body-inner"><noscript class="js-jsWarning"><div class="blockMessage blockMessage--important blockMessage--iconic u-noJsOnly">JavaScript is disabled. For a better experience, please enable JavaScript in your browser before proceeding.</div></noscript>
<div class="p-body-header"><div class="p-title "><h1 class="p-title-value">{title}</h1></div></div><div class="p-body-main"><div class="p-body-content"><div class="p-body-pageContent">
{main}
</div></div></div></div></div>
<footer class="p-footer" id="footer"><div class="p-footer-inner"><div class="p-footer-row"><ul class="p-footer-linkList"><li><a href="/misc/contact/">Contact us</a></li><li><a href="/help/terms/">Terms and rules</a></li><li><a href="/help/privacy-policy/">Privacy policy</a></li><li><a href="/help/">Help</a></li></ul></div><div class="p-footer-copyright"><a href="https://xenforo.com" class="u-concealed" dir="ltr" target="_blank">Community platform by XenForo<sup>&reg;</sup> <span class="copyright">&copy; 2010-2023 XenForo Ltd.</span></a></div></div></footer></div>
</body></html>'''

def vb(lang,site,url,title,main):
    return f'''<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">
<html xmlns="http://www.w3.org/1999/xhtml" dir="ltr" lang="{lang}">
<head><meta http-equiv="Content-Type" content="text/html; charset=UTF-8" /><meta name="generator" content="vBulletin 3.8.7" />
<title>{title}</title>
<style type="text/css" id="vbulletin_css">body{{background:#E1E1E2;color:#000;font:10pt verdana,geneva,lucida,arial,helvetica,sans-serif;margin:5px 10px}}.tborder{{background:#D1D1E1;border:1px solid #0B198C}}.tcat{{background:#869BBF;color:#fff;font:bold 10pt verdana}}.alt1{{background:#F5F5FF}}.alt2{{background:#E1E4F2}}</style>
<script type="text/javascript" src="clientscript/vbulletin_global.js?v=387"></script></head>
<body>
<table border="0" width="100%" cellpadding="0" cellspacing="0" align="center"><tr><td align="left"><a href="index.php"><img src="images/misc/vbulletin3_logo_white.gif" border="0" alt="{site}" /></a></td></tr></table>
<table class="tborder" cellpadding="6" cellspacing="1" border="0" width="100%" align="center"><tr><td class="alt1" width="100%"><span class="navbar"><a href="index.php" accesskey="1">{site}</a></span></td><td class="alt2" nowrap="nowrap"><form action="login.php?do=login" method="post"><table cellpadding="0" cellspacing="3" border="0"><tr><td class="smallfont"><label for="navbar_username">User Name</label></td><td><input type="text" class="bginput" name="vb_login_username" id="navbar_username" size="10" value="User Name" /></td><td class="smallfont"><label><input type="checkbox" name="cookieuser" value="1" />Remember Me?</label></td></tr><tr><td class="smallfont">Password</td><td><input type="password" class="bginput" name="vb_login_password" size="10" /></td><td><input type="submit" class="button" value="Log in" /></td></tr></table></form></td></tr></table>
<div class="tborder"><table cellpadding="0" cellspacing="0" border="0" width="100%"><tr align="center"><td class="vbmenu_control"><a href="register.php">Register</a></td><td class="vbmenu_control"><a href="faq.php">FAQ</a></td><td class="vbmenu_control"><a href="memberlist.php">Members List</a></td><td class="vbmenu_control"><a href="calendar.php">Calendar</a></td><td class="vbmenu_control"><a href="search.php?do=getdaily">Today's Posts</a></td><td class="vbmenu_control"><a href="search.php">Search</a></td></tr></table></div>
<br />
{main}
<br />
<div class="smallfont" align="center">All times are GMT +1. The time now is <span class="time">{rnd.randint(1,12)}:{rnd.randint(10,59)} PM</span>.</div>
<div align="center"><div class="smallfont" align="center">Powered by vBulletin&reg; Version 3.8.7<br />Copyright &copy;2000 - {yr()}, vBulletin Solutions, Inc.</div></div>
</body></html>'''

def news(lang,site,url,title,main,nav,foot=(),ban='',most=(),sub=''):
    d=w(lang); b='https://'+host(url)
    return f'''<!DOCTYPE html>
<html lang="{lang}">
<head>
<meta charset="utf-8"><title>{title} | {site}</title>
<meta name="viewport" content="width=device-width,initial-scale=1,maximum-scale=5"><meta name="referrer" content="always">
{og(title,url,site)}
<link rel="canonical" href="{url}"><link rel="stylesheet" href="{b}/assets/main.{hx(8)}.css">
<script type="application/ld+json">{{"@context":"https://schema.org","@type":"WebPage","name":"{title.replace('"','')}","publisher":{{"@type":"NewsMediaOrganization","name":"{site}","logo":{{"@type":"ImageObject","url":"{b}/logo.png"}}}}}}</script>
{gtm()}
<script>window.googletag=window.googletag||{{cmd:[]}};var adSlots=[{{"id":"billboard","sizes":[[970,250],[728,90]]}},{{"id":"mpu1","sizes":[[300,250]]}}];</script>
</head>
<body class="article-page">
<div class="ad ad--billboard" id="div-gpt-ad-billboard"></div>
<header class="site-header"><div class="site-header__top"><a class="logo" href="/"><svg aria-label="{site}"></svg></a><button class="burger">{d['menu']}</button><a class="btn-sub" href="/abo">{sub or d['sub']}</a><a class="btn-login" href="/login">{d['login']}</a></div><nav class="main-nav"><ul>
{lis(nav,'main-nav__item','main-nav__link')}
</ul></nav></header>
<main class="page__main">
{main}
</main>
{('<aside class="most-read"><h3>%s</h3><ol>%s</ol></aside>'%(most[0],lis(most[1:],'most-read__item','','/a/'))) if most else ''}
<footer class="site-footer"><ul class="site-footer__links">
{lis(foot or [d['imp'],d['contact'],d['priv'],d['terms']],'','','/service/')}
</ul><p class="copyright">© {yr()} {site}. {d['rights']}</p></footer>
{ban}
<script defer src="{b}/assets/app.{hx(8)}.js"></script>
</body></html>'''

def gov(lang,site,url,title,main,nav,foot=(),ban='',bread=''):
    d=w(lang)
    return f'''<!DOCTYPE html>
<html lang="{lang}" class="no-js">
<head><meta charset="utf-8"><meta http-equiv="X-UA-Compatible" content="IE=edge"><title>{title} - {site}</title><meta name="viewport" content="width=device-width, initial-scale=1"><link rel="stylesheet" href="/resources/css/style.min.css?v={dg(6)}"><link rel="shortcut icon" href="/favicon.ico">{matomo(host(url))}</head>
<body class="gs">
<p class="skiplinks"><a href="#content">{d['skip']}</a></p>
<header role="banner" id="header"><div class="wrapper"><a id="anfang" href="/"><img src="/resources/img/logo.svg" alt="{site}"></a><form class="search" action="/search" role="search"><label for="q" class="aural">{d['search']}</label><input id="q" name="q" type="text"><button>{d['search']}</button></form></div></header>
<nav role="navigation" class="navigation"><ul class="level1">
{lis(nav,'nav-item')}
</ul></nav>
<div class="breadcrumb">{bread or site}</div>
<main id="content" role="main"><div class="column">
{main}
</div></main>
<footer role="contentinfo"><ul class="footer-links">
{lis(foot or [d['imp'],d['priv'],d['contact']])}
</ul><p>© {yr()} {site}</p></footer>
{ban}
<script src="/resources/js/script.min.js"></script>
</body></html>'''

def typo3(lang,site,url,title,main,nav,foot=(),ban='',side=()):
    d=w(lang)
    return f'''<!DOCTYPE html>
<html dir="ltr" lang="{lang}">
<head>
<meta charset="utf-8">
<!--
	This website is powered by TYPO3 - inspiring people to share!
	TYPO3 is a free open source Content Management Framework initially created by Kasper Skaarhoj and licensed under GNU/GPL.
-->
<title>{title}: {site}</title>
<meta name="generator" content="TYPO3 CMS"><meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="/typo3temp/assets/compressed/merged-{hx(32)}.css?{dg(10)}" media="all">
<script src="/typo3temp/assets/compressed/merged-{hx(32)}.js?{dg(10)}"></script>
</head>
<body id="p{rnd.randint(2,9000)}" class="page-{rnd.randint(2,900)} pagelevel-3 language-0 backendlayout-default layout-0">
<div id="top"></div><div class="body-bg"><a class="visually-hidden-focusable page-skip-link" href="#mainnavigation">{d['skip']}</a>
<header id="page-header" class="bp-page-header navbar navbar-mainnavigation"><div class="container"><a class="navbar-brand navbar-brand-image" title="{site}" href="/"><img class="navbar-brand-logo-normal" src="/fileadmin/templates/img/logo.svg" alt="{site}"></a><nav class="navbar-collapse"><ul class="navbar-nav">
{lis(nav,'nav-item','nav-link')}
</ul></nav></div></header>
<div class="breadcrumb-section"><ol class="breadcrumb"><li class="breadcrumb-item"><a href="/">{site}</a></li><li class="breadcrumb-item active">{title}</li></ol></div>
<main id="page-content" class="bp-page-content main-section"><div class="section section-default"><div class="section-row">{('<div class="section-column subnav-column"><nav class="subnav-nav"><ul>'+lis(side,'subnav-item')+'</ul></nav></div>') if side else ''}<div class="section-column maincontent-column">
<!--TYPO3SEARCH_begin-->
{main}
<!--TYPO3SEARCH_end-->
</div></div></div></main>
<footer id="page-footer" class="bp-page-footer"><section class="section footer-section footer-section-meta"><div class="container"><ul class="meta-menu">
{lis(foot or [d['imp'],d['priv'],d['contact']])}
</ul></div></section></footer></div>
{ban}
</body></html>'''

def joomla(lang,site,url,title,main,nav,foot='',ban=''):
    d=w(lang)
    return f'''<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="{lang}-{lang}" lang="{lang}-{lang}" dir="ltr">
<head>
<meta name="viewport" content="width=device-width, initial-scale=1.0" /><meta charset="utf-8" /><base href="{url}" />
<meta name="generator" content="Joomla! - Open Source Content Management" />
<title>{title}</title>
<link href="/templates/protostar/favicon.ico" rel="shortcut icon" type="image/vnd.microsoft.icon" /><link href="/templates/protostar/css/template.css?{hx(32)}" rel="stylesheet" />
<script type="application/json" class="joomla-script-options new">{{"csrf.token":"{hx(32)}","system.paths":{{"root":"","base":""}}}}</script>
<script src="/media/jui/js/jquery.min.js?{hx(32)}"></script>
</head>
<body class="site com_content view-article no-layout no-task itemid-{rnd.randint(101,400)}">
<div class="body" id="top"><div class="container">
<header class="header" role="banner"><div class="header-inner clearfix"><a class="brand pull-left" href="/"><span class="site-title" title="{site}">{site}</span></a></div></header>
<nav class="navigation" role="navigation"><ul class="nav menu nav-pills mod-list">
{lis(nav,'item-%d'%rnd.randint(101,199),'','/index.php/')}
</ul></nav>
<div class="row-fluid"><main id="content" role="main" class="span9"><div id="system-message-container"></div>
{main}
</main></div></div></div>
<footer class="footer" role="contentinfo"><div class="container"><hr /><p class="pull-right"><a href="#top" id="back-top">Top</a></p><p>&copy; {yr()} {site} {foot}</p></div></footer>
{ban}
</body></html>'''

def drupal(lang,site,url,title,main,nav,foot=(),ban=''):
    d=w(lang)
    return f'''<!DOCTYPE html>
<html lang="{lang}" dir="ltr" prefix="og: https://ogp.me/ns#">
<head>
<meta charset="utf-8" /><meta name="Generator" content="Drupal {rnd.choice([8,9,10])} (https://www.drupal.org)" /><meta name="MobileOptimized" content="width" /><meta name="HandheldFriendly" content="true" /><meta name="viewport" content="width=device-width, initial-scale=1.0" />
<title>{title} | {site}</title>
<link rel="stylesheet" media="all" href="/sites/default/files/css/css_{b64(43)}.css" /><script src="/sites/default/files/js/js_{b64(43)}.js"></script>
</head>
<body class="layout-no-sidebars path-node">
<a href="#main-content" class="visually-hidden focusable skip-link">{d['skip']}</a>
<div class="dialog-off-canvas-main-canvas" data-off-canvas-main-canvas><div class="layout-container">
<header role="banner"><div class="region region-header"><div id="block-branding" class="block block-system block-system-branding-block"><a href="/" rel="home" class="site-logo"><img src="/themes/custom/site/logo.svg" alt="Home" /></a><div class="site-name"><a href="/" rel="home">{site}</a></div></div></div></header>
<div class="region region-primary-menu"><nav role="navigation" aria-labelledby="block-main-menu"><h2 class="visually-hidden">Main navigation</h2><ul class="menu">
{lis(nav,'menu-item')}
</ul></nav></div>
<main role="main"><a id="main-content" tabindex="-1"></a><div class="layout-content"><div class="region region-content"><div data-drupal-messages-fallback class="hidden"></div><div class="block block-core block-page-title-block"><h1 class="page-title">{title}</h1></div>
<div id="block-content" class="block block-system block-system-main-block">
{main}
</div></div></div></main>
<footer role="contentinfo"><div class="region region-footer"><nav role="navigation"><ul class="menu">
{lis(foot or [d['contact'],d['priv'],d['terms']],'menu-item')}
</ul></nav><p>&copy; {yr()} {site}</p></div></footer></div></div>
<script type="application/json" data-drupal-selector="drupal-settings-json">{{"path":{{"baseUrl":"\\/","currentPath":"node\\/{rnd.randint(3,9999)}","currentLanguage":"{lang}"}},"user":{{"uid":0,"permissionsHash":"{hx(64)}"}}}}</script>
{ban}
</body></html>'''

def mediawiki(lang,site,url,title,main,edit=True):
    return f'''<!DOCTYPE html>
<html class="client-nojs" lang="{lang}" dir="ltr">
<head><meta charset="UTF-8"/><title>{title} - {site}</title>
<script>document.documentElement.className="client-js";RLCONF={{"wgBreakFrames":false,"wgSeparatorTransformTable":["",""],"wgDefaultDateFormat":"dmy","wgPageName":"{title.replace(' ','_')}","wgUserName":null,"wgIsArticle":true}};</script>
<link rel="stylesheet" href="/w/load.php?lang={lang}&amp;modules=skins.vector.styles.legacy&amp;only=styles&amp;skin=vector"/><meta name="generator" content="MediaWiki 1.{rnd.randint(31,41)}.{rnd.randint(0,5)}"/></head>
<body class="mediawiki ltr sitedir-ltr mw-hide-empty-elt ns-0 ns-subject skin-vector action-view skin-vector-legacy">
<div id="mw-page-base" class="noprint"></div><div id="mw-head-base" class="noprint"></div>
<div id="content" class="mw-body" role="main"><a id="top"></a><div id="siteNotice"></div>
<h1 id="firstHeading" class="firstHeading mw-first-heading">{title}</h1>
<div id="bodyContent" class="vector-body"><div id="siteSub" class="noprint">From {site}</div><div id="contentSub"></div><a class="mw-jump-link" href="#mw-head">Jump to navigation</a><a class="mw-jump-link" href="#searchInput">Jump to search</a>
<div id="mw-content-text" class="mw-body-content mw-content-{lang}" lang="{lang}" dir="ltr"><div class="mw-parser-output">
{main}
</div></div></div></div>
<div id="mw-navigation"><h2>Navigation menu</h2><div id="mw-head"><nav id="p-personal" class="vector-menu"><ul class="vector-menu-content-list"><li id="pt-login"><a href="/index.php?title=Special:UserLogin" accesskey="o"><span>Log in</span></a></li></ul></nav><nav id="p-views"><ul><li class="selected"><a href="#">Read</a></li><li><a href="?action=edit">View source</a></li><li><a href="?action=history">View history</a></li></ul></nav><div id="p-search" role="search"><form action="/index.php"><input type="search" name="search" placeholder="Search {site}" id="searchInput"/></form></div></div>
<div id="mw-panel"><nav id="p-navigation"><ul><li><a href="/wiki/Main_Page">Main page</a></li><li><a href="/wiki/Special:RecentChanges">Recent changes</a></li><li><a href="/wiki/Special:Random">Random page</a></li></ul></nav><nav id="p-tb"><ul><li><a href="/wiki/Special:WhatLinksHere">What links here</a></li><li><a href="/wiki/Special:SpecialPages">Special pages</a></li></ul></nav></div></div>
<footer id="footer" class="mw-footer" role="contentinfo"><ul id="footer-info"><li id="footer-info-lastmod"> This page was last edited on {rnd.randint(1,28)} March {yr()}, at 1{rnd.randint(0,9)}:{rnd.randint(10,59)}.</li></ul><ul id="footer-places"><li><a href="/wiki/Privacy">Privacy policy</a></li><li><a href="/wiki/About">About {site}</a></li></ul></footer>
</body></html>'''

def bank(lang,site,url,title,main,nav,foot=(),ban=''):
    d=w(lang)
    return f'''<!DOCTYPE html>
<html lang="{lang}"><head><meta charset="utf-8"><title>{title} | {site}</title><meta name="viewport" content="width=device-width, initial-scale=1"><link rel="stylesheet" href="/etc.clientlibs/bank/clientlibs/clientlib-base.min.{hx(32)}.css"><script src="//assets.adobedtm.com/launch-EN{hx(32)}.min.js" async></script></head>
<body class="basepage page basicpage" id="page-{hx(10)}">
<div class="root responsivegrid"><div class="aem-Grid aem-Grid--12"><header class="experiencefragment"><div class="cmp-header"><a class="cmp-header__logo" href="/{lang}.html"><img alt="{site}" src="/content/dam/bank/logo.svg"></a><nav class="cmp-navigation"><ul class="cmp-navigation__group">
{lis(nav,'cmp-navigation__item cmp-navigation__item--level-0','cmp-navigation__item-link')}
</ul></nav><a class="cmp-button cmp-button--login" href="/onlinebanking"><span class="cmp-button__text">{d['login']}</span></a></div></header>
<main class="container responsivegrid">
{main}
</main>
<footer class="experiencefragment"><div class="cmp-footer"><ul>
{lis(foot or [d['imp'],d['priv'],d['terms'],d['contact']],'cmp-list__item')}
</ul><p>&copy; {yr()} {site}</p></div></footer></div></div>
{ban}
</body></html>'''

def hand(title,body,bg='#ffffff',charset='iso-8859-1',lang=None):
    return f'''<html{(' lang="%s"'%lang) if lang else ''}>
<head>
<meta http-equiv="Content-Type" content="text/html; charset={charset}">
<title>{title}</title>
</head>
<body bgcolor="{bg}" text="#000000" link="#0000cc" vlink="#551a8b">
{body}
</body>
</html>'''

def doc(lang,title,head,body,battr=''):
    return f'''<!DOCTYPE html>
<html lang="{lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
{head}
</head>
<body{(' '+battr) if battr else ''}>
{body}
</body>
</html>'''
