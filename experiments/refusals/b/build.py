# -*- coding: utf-8 -*-
import json, random, html as H
P=[]
def R(label,shape,url,html,lang='en',status=200,headers=None):
    P.append(dict(label=label,shape=shape,status=status,headers=headers or {},url=url,html=html.strip()+"\n",lang=lang))
def C(shape,url,html,lang='en',headers=None): R('content',shape,url,html,lang,200,headers)

MEN={
'en_uni':'About|Departments|Study with us|Undergraduate|Postgraduate|Research|Library|News|Events|Staff directory|Alumni|Giving|Sports|Student union|Accommodation|Contact',
'en_shop':'New in|Women|Men|Kids|Shoes|Bags|Accessories|Home|Kitchen|Garden|Sale|Gift cards|Stores|Journal|Delivery|Returns|Track order|Size guide',
'en_news':'Home|News|Local|Sport|Business|Politics|Opinion|Culture|Food|Travel|Obituaries|Weather|Jobs|Classifieds|Newsletters|Podcasts|Log in|Subscribe',
'en_small':'Home|About us|Services|Our work|Prices|Gallery|Blog|FAQ|Contact',
'en_soft':'Getting started|Installation|Configuration|Tutorial|User guide|API reference|Changelog|Contributing|FAQ|Community|Download|Release notes|Plugins|Security|License|Glossary',
'de':'Startseite|Aktuelles|Über uns|Leistungen|Produkte|Projekte|Veranstaltungen|Stellenangebote|Downloads|Presse|Kontakt|Anfahrt|Impressum|Datenschutz',
'de_uni':'Universität|Fakultäten|Studium|Forschung|International|Bibliothek|Rechenzentrum|Personen|Lehre|Prüfungsamt|Veranstaltungen|Publikationen|Karriere|Alumni|Kontakt|Impressum',
'de_shop':'Neuheiten|Damen|Herren|Kinder|Outdoor|Fahrräder|Zubehör|Werkzeug|Garten|Angebote|Marken|Ratgeber|Versand|Rückgabe|Mein Konto|Warenkorb',
'fr':"Accueil|Actualités|La commune|Vie pratique|Agenda|Associations|Culture|Sports|Enfance|Urbanisme|Marchés publics|Contact|Mentions légales|Plan du site",
'fr_news':"À la une|Politique|International|Économie|Sport|Culture|Sciences|Idées|M le mag|Services|Jeux|Annonces|S’abonner|Se connecter",
'es':'Inicio|Quiénes somos|Servicios|Noticias|Agenda|Tienda|Proyectos|Galería|Blog|Preguntas frecuentes|Contacto|Aviso legal|Política de privacidad',
'it':'Home|Chi siamo|Servizi|Prodotti|Ricette|Notizie|Eventi|Galleria|Dove siamo|Lavora con noi|Contatti|Privacy|Cookie',
'pt':'Início|Sobre|Notícias|Serviços|Produtos|Agenda|Galeria|Transparência|Ouvidoria|Fale conosco|Mapa do site|Acessibilidade',
'nl':'Home|Nieuws|Over ons|Diensten|Agenda|Vacatures|Projecten|Webshop|Veelgestelde vragen|Contact|Privacy|Disclaimer',
'pl':'Strona główna|Aktualności|O nas|Oferta|Sklep|Galeria|Kalendarz|Praca|Blog|Kontakt|Regulamin|Polityka prywatności',
'ru':'Главная|О компании|Каталог|Новости|Статьи|Услуги|Доставка и оплата|Галерея|Форум|Вопросы и ответы|Вакансии|Контакты',
'ja':'ホーム|会社概要|製品情報|ニュース|採用情報|お問い合わせ|よくある質問|アクセス|サイトマップ|個人情報保護方針',
'zh':'首页|关于我们|新闻中心|产品展示|技术支持|案例|招聘信息|下载|留言|联系我们',
'sv':'Hem|Nyheter|Om oss|Tjänster|Kalender|Medlem|Bilder|Butik|Lediga jobb|Kontakt|Integritetspolicy',
'tr':'Ana Sayfa|Kurumsal|Ürünler|Hizmetler|Haberler|Duyurular|Etkinlikler|Galeri|Kariyer|İletişim|KVKK',
'cs':'Domů|Aktuality|O nás|Služby|E-shop|Akce|Fotogalerie|Kariéra|Ke stažení|Kontakt|Ochrana údajů',
'ko':'홈|회사소개|제품|공지사항|자료실|채용|문의하기|오시는 길|이용약관|개인정보처리방침',
'da':'Forside|Nyheder|Om os|Ydelser|Arrangementer|Medlemskab|Galleri|Job|Kontakt|Cookies',
'fi':'Etusivu|Ajankohtaista|Palvelut|Tapahtumat|Tietoa meistä|Verkkokauppa|Galleria|Yhteystiedot|Tietosuoja',
'hu':'Kezdőlap|Hírek|Rólunk|Szolgáltatások|Termékek|Események|Galéria|Karrier|Kapcsolat|Adatvédelem',
}
FOOT={'en':'All rights reserved','de':'Alle Rechte vorbehalten','fr':'Tous droits réservés','es':'Todos los derechos reservados','it':'Tutti i diritti riservati','pt':'Todos os direitos reservados','nl':'Alle rechten voorbehouden','pl':'Wszelkie prawa zastrzeżone','ru':'Все права защищены','ja':'All Rights Reserved.','zh':'版权所有','sv':'Alla rättigheter förbehållna','tr':'Tüm hakları saklıdır','cs':'Všechna práva vyhrazena','ko':'All rights reserved.','da':'Alle rettigheder forbeholdes','fi':'Kaikki oikeudet pidätetään','hu':'Minden jog fenntartva'}
def slug(i): return ['','about','s1','kat/2','p/3','r-4','sec/5','info/6','x7','node/8','l/9','t-10','m/11','a/12','b/13','c/14','d/15','e/16'][i%18]
def lis(key,base,cls='',acls=''):
    items=(MEN.get(key) or key).split('|')
    return ''.join('<li%s><a%s href="%s/%s">%s</a></li>\n'%(cls and ' class="%s %s-%d"'%(cls,cls,100+i) ,acls and ' class="%s"'%acls,base,slug(i),H.escape(t)) for i,t in enumerate(items))
def base(u): return '/'.join(u.split('/')[:3])
def host(u): return u.split('/')[2]
def paras(t):
    out=[]
    for b in t.strip().split('\n'):
        b=b.strip()
        if not b: continue
        if b.startswith('## '): out.append('<h2 class="wp-block-heading">%s</h2>'%b[3:])
        elif b.startswith('- '): out.append('<ul><li>%s</li></ul>'%b[2:])
        elif b.startswith('<'): out.append(b)
        else: out.append('<p>%s</p>'%b)
    return '\n'.join(out).replace('</ul>\n<ul>','\n')
# ---- site templates
def wp(u,lang,menu,site,title,body,desc='',ok=True,cls='single single-post',typ='Article',date='2023-05-14T08:12:33+00:00',aside=''):
    b=base(u)
    if ok:
        ld=json.dumps({"@context":"https://schema.org","@graph":[{"@type":typ,"@id":u+"#article","headline":title,"datePublished":date,"inLanguage":lang},{"@type":"WebSite","@id":b+"/#website","url":b+"/","name":site}]},ensure_ascii=False)
        hd=f'''<meta name='robots' content='index, follow, max-image-preview:large, max-snippet:-1, max-video-preview:-1' />
<!-- This site is optimized with the Yoast SEO plugin v20.4 - https://yoast.com/wordpress/plugins/seo/ -->
<title>{title} - {site}</title>
<meta name="description" content="{H.escape(desc or title)}" />
<link rel="canonical" href="{u}" />
<meta property="og:locale" content="{lang}" />
<meta property="og:type" content="article" />
<meta property="og:title" content="{H.escape(title)} - {site}" />
<meta property="og:url" content="{u}" />
<meta property="og:site_name" content="{site}" />
<meta property="article:published_time" content="{date}" />
<meta name="twitter:card" content="summary_large_image" />
<script type="application/ld+json" class="yoast-schema-graph">{ld}</script>
<!-- / Yoast SEO plugin. -->'''
    else:
        hd=f'''<meta name='robots' content='noindex, follow' />
<title>{title} - {site}</title>
<meta property="og:locale" content="{lang}" />
<meta property="og:title" content="{H.escape(title)} - {site}" />
<meta property="og:site_name" content="{site}" />'''
    return f'''<!DOCTYPE html>
<html lang="{lang}">
<head>
<meta charset="UTF-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="profile" href="https://gmpg.org/xfn/11">
{hd}
<link rel="alternate" type="application/rss+xml" title="{site} &raquo; Feed" href="{b}/feed/" />
<link rel='stylesheet' id='wp-block-library-css' href='{b}/wp-includes/css/dist/block-library/style.min.css?ver=6.2' media='all' />
<link rel="https://api.w.org/" href="{b}/wp-json/" /><link rel="EditURI" type="application/rsd+xml" title="RSD" href="{b}/xmlrpc.php?rsd" />
<meta name="generator" content="WordPress 6.2" />
</head>
<body class="{cls if ok else 'error404'} wp-embed-responsive hfeed">
<div id="page" class="site">
<a class="skip-link screen-reader-text" href="#content">Skip to content</a>
<header id="masthead" class="site-header"><div class="site-branding"><p class="site-title"><a href="{b}/" rel="home">{site}</a></p></div>
<nav id="site-navigation" class="main-navigation"><button class="menu-toggle" aria-controls="primary-menu" aria-expanded="false">Menu</button>
<ul id="primary-menu" class="menu">
{lis(menu,b,'menu-item menu-item-type-post_type')}</ul></nav></header>
<div id="content" class="site-content"><div id="primary" class="content-area"><main id="main" class="site-main">
{body}
</main></div>{aside}</div>
<footer id="colophon" class="site-footer"><div class="site-info">&copy; 2023 {site}. {FOOT[lang[:2]]}</div></footer>
</div>
<script src='{b}/wp-includes/js/jquery/jquery.min.js?ver=3.6.4' id='jquery-core-js'></script>
</body></html>'''
def wpart(u,lang,menu,site,title,text,desc='',**k):
    body=f'<article id="post-2184" class="post-2184 post type-post status-publish format-standard hentry"><header class="entry-header"><h1 class="entry-title">{title}</h1></header><div class="entry-content">\n{paras(text)}\n</div></article>'
    return wp(u,lang,menu,site,title,body,desc or text.strip().split(chr(10))[0][:150].replace('<','').replace('>',''),**k)
def drupal(u,lang,menu,site,title,body,ok=True,desc='',ver='10'):
    b=base(u)
    hd=f'<meta name="description" content="{H.escape(desc)}" />\n<link rel="canonical" href="{u}" />\n<link rel="shortlink" href="{b}/node/318" />\n<meta property="og:title" content="{H.escape(title)}" />\n<meta property="og:url" content="{u}" />' if ok else ''
    return f'''<!DOCTYPE html>
<html lang="{lang}" dir="ltr" prefix="og: https://ogp.me/ns#">
<head><meta charset="utf-8" />
{hd}
<meta name="Generator" content="Drupal {ver} (https://www.drupal.org)" />
<meta name="MobileOptimized" content="width" /><meta name="HandheldFriendly" content="true" />
<meta name="viewport" content="width=device-width, initial-scale=1.0" />
<link rel="icon" href="/themes/custom/site/favicon.ico" type="image/vnd.microsoft.icon" />
<title>{title} | {site}</title>
<link rel="stylesheet" media="all" href="/sites/default/files/css/css_8dJ1Tk.css" />
</head>
<body class="layout-one-sidebar layout-sidebar-first page-node-318 path-node node--type-page">
<a href="#main-content" class="visually-hidden focusable skip-link">Skip to main content</a>
<div class="dialog-off-canvas-main-canvas" data-off-canvas-main-canvas><div id="page-wrapper"><div id="page">
<header id="header" class="header" role="banner"><div class="section layout-container clearfix">
<div id="block-branding" class="clearfix site-branding block block-system block-system-branding-block"><a href="/" rel="home">{site}</a></div>
<nav role="navigation" aria-labelledby="block-main-menu" id="block-mainnavigation" class="block block-menu navigation menu--main"><ul class="clearfix menu">
{lis(menu,'','menu-item')}</ul></nav></div></header>
<div id="main-wrapper" class="layout-main-wrapper layout-container clearfix"><div id="main" class="layout-main clearfix">
<main id="content" class="column main-content" role="main"><section class="section"><a id="main-content" tabindex="-1"></a>
<div id="block-pagetitle" class="block block-core block-page-title-block"><h1 class="title page-title">{title}</h1></div>
<div id="block-content" class="block block-system block-system-main-block"><div class="content">
{body}
</div></div></section></main></div></div>
<footer class="site-footer"><div class="layout-container"><ul class="menu">{lis(menu,'','menu-item')}</ul><p>&copy; {site}</p></div></footer>
</div></div></div>
</body></html>'''
def typo3(u,lang,menu,site,title,body,ok=True,desc=''):
    b=base(u)
    hd=f'<meta name="description" content="{H.escape(desc)}" />\n<meta name="robots" content="index,follow" />\n<link rel="canonical" href="{u}"/>\n<meta property="og:title" content="{H.escape(title)}" />' if ok else ''
    return f'''<!DOCTYPE html>
<html lang="{lang}">
<head>
<meta charset="utf-8">
<!--
	This website is powered by TYPO3 - inspiring people to share!
	TYPO3 is a free open source Content Management Framework initially created by Kasper Skaarhoj and licensed under GNU/GPL.
-->
<title>{title}: {site}</title>
<meta name="generator" content="TYPO3 CMS" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
{hd}
<link rel="stylesheet" href="/typo3temp/assets/css/7015c8c4ac5ff815b57530b221005fc6.css" media="all">
</head>
<body id="p214" class="page-214 pagelevel-2 language-0 backendlayout-default layout-default">
<div id="top"></div><div class="body-bg"><a class="visually-hidden-focusable" href="#page-content"><span>{ {'de':'Zum Hauptinhalt springen','fr':'Aller au contenu'}.get(lang,'Skip to content')}</span></a>
<header id="page-header" class="bp-page-header navbar navbar-mainnavigation"><div class="container"><a class="navbar-brand" title="{site}" href="/">{site}</a>
<nav aria-label="Main navigation" id="mainnavigation" class="collapse navbar-collapse"><ul class="navbar-nav">{lis(menu,'','nav-item','nav-link')}</ul></nav></div></header>
<main id="page-content" class="bp-page-content main-section"><!--TYPO3SEARCH_begin-->
<div class="section section-default"><div class="container"><div class="section-row"><div class="section-column mainContent-wrap">
<div id="c1188" class="frame frame-default frame-type-text frame-layout-default"><div class="frame-container"><div class="frame-inner"><header class="frame-header"><h1 class="element-header"><span>{title}</span></h1></header>
{body}
</div></div></div></div></div></div></div><!--TYPO3SEARCH_end--></main>
<footer id="page-footer" class="bp-page-footer"><section class="section footer-section footer-section-meta"><div class="container"><ul id="meta_menu" class="meta-menu">{lis(menu,'')}</ul><p class="copyright">© {site}</p></div></section></footer></div>
</body></html>'''
def joomla(u,lang,menu,site,title,body,ok=True,desc=''):
    return f'''<!DOCTYPE html>
<html lang="{lang}-{lang}" dir="ltr">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
{'<meta name="description" content="'+H.escape(desc)+'">' if ok else ''}
<meta name="generator" content="Joomla! - Open Source Content Management">
<title>{title}</title>
<link href="/media/templates/site/cassiopeia/css/template.min.css" rel="stylesheet">{'<link href="'+u+'?format=feed&amp;type=rss" rel="alternate" type="application/rss+xml" title="'+site+'">' if ok else ''}
</head>
<body class="site com_content wrapper-static view-article no-layout no-task itemid-101 has-sidebar-right">
<header class="header container-header full-width"><div class="grid-child"><div class="navbar-brand"><a class="brand-logo" href="/">{site}</a></div></div>
<div class="grid-child container-nav"><nav class="navbar navbar-expand-lg"><ul class="mod-menu mod-list nav metismenu">{lis(menu,'','nav-item')}</ul></nav></div></header>
<div class="site-grid"><div class="grid-child container-component"><div id="system-message-container" aria-live="polite"></div><main>
<div class="com-content-article item-page"><div class="page-header"><h1>{title}</h1></div><div class="com-content-article__body">
{body}
</div></div></main></div></div>
<footer class="container-footer footer full-width"><div class="grid-child"><p>© 2022 {site} – {FOOT[lang]}</p></div></footer>
</body></html>'''
def shopify(u,lang,menu,site,title,body,ok=True,desc='',typ='product',price='29.00',cur='EUR'):
    ld=json.dumps({"@context":"http://schema.org/","@type":"Product","name":title,"url":u,"description":desc,"offers":[{"@type":"Offer","availability":"http://schema.org/InStock","price":price,"priceCurrency":cur}]},ensure_ascii=False)
    return f'''<!doctype html>
<html class="no-js" lang="{lang}">
<head>
<meta charset="utf-8"><meta http-equiv="X-UA-Compatible" content="IE=edge"><meta name="viewport" content="width=device-width,initial-scale=1">
<link rel="canonical" href="{u}">
<link rel="preconnect" href="https://cdn.shopify.com" crossorigin>
<title>{title} &ndash; {site}</title>
{'<meta name="description" content="'+H.escape(desc)+'">' if ok else ''}
<meta property="og:site_name" content="{site}"><meta property="og:url" content="{u}"><meta property="og:title" content="{H.escape(title)}"><meta property="og:type" content="{typ if ok else 'website'}">
<script>window.performance && window.performance.mark && window.performance.mark('shopify.content_for_header.start');</script>
<script>var Shopify = Shopify || {{}}; Shopify.shop = "shop-{len(site)}.myshopify.com"; Shopify.locale = "{lang}"; Shopify.theme = {{"name":"Dawn","id":12093,"role":"main"}};</script>
</head>
<body class="gradient">
<a class="skip-to-content-link button visually-hidden" href="#MainContent">Skip to content</a>
<div id="shopify-section-announcement-bar" class="shopify-section"><div class="announcement-bar" role="region"><p class="announcement-bar__message h5">{ {'de':'Kostenloser Versand ab 50 €','fr':'Livraison offerte dès 60 €','en':'Free shipping on orders over 50'}.get(lang,'%')}</p></div></div>
<div id="shopify-section-header" class="shopify-section section-header"><sticky-header class="header-wrapper"><header class="header header--middle-left page-width"><a href="/" class="header__heading-link"><span class="h2">{site}</span></a>
<nav class="header__inline-menu"><ul class="list-menu list-menu--inline" role="list">{lis(menu,'','','header__menu-item list-menu__item link')}</ul></nav></header></sticky-header></div>
<main id="MainContent" class="content-for-layout focus-none" role="main" tabindex="-1">
{body}
{'<script type="application/ld+json">'+ld+'</script>' if ok else ''}
</main>
<div id="shopify-section-footer" class="shopify-section"><footer class="footer color-background-1"><ul class="footer-block__details-content list-unstyled">{lis(menu,'')}</ul><div class="footer__copyright"><small class="copyright__content">&copy; 2023, <a href="/">{site}</a></small> <small><a target="_blank" rel="nofollow" href="https://www.shopify.com">Powered by Shopify</a></small></div></footer></div>
</body></html>'''
def phpbb(u,lang,site,title,body,ok=True):
    return f'''<!DOCTYPE html>
<html dir="ltr" lang="{lang}">
<head><meta charset="utf-8" /><meta http-equiv="X-UA-Compatible" content="IE=edge"><meta name="viewport" content="width=device-width, initial-scale=1" />
<title>{site} - {title}</title>
<link rel="alternate" type="application/atom+xml" title="Feed - {site}" href="/app.php/feed">{'<link rel="canonical" href="'+u+'">' if ok else ''}
<link href="./styles/prosilver/theme/stylesheet.css?assets_version=41" rel="stylesheet"></head>
<body id="phpbb" class="nojs notouch section-viewtopic ltr">
<div id="wrap" class="wrap"><a id="top" class="top-anchor" accesskey="t"></a>
<div id="page-header"><div class="headerbar" role="banner"><div class="inner"><div id="site-description" class="site-description"><a id="logo" class="logo" href="./index.php" title="Board index"><span class="site_logo"></span></a><h1>{site}</h1><p class="skiplink"><a href="#start_here">Skip to content</a></p></div></div></div>
<div class="navbar" role="navigation"><div class="inner"><ul id="nav-main" class="nav-main linklist" role="menubar"><li class="rightside" data-skip-responsive="true"><a href="./ucp.php?mode=login" title="Login" accesskey="x" role="menuitem"><i class="icon fa-power-off fa-fw"></i><span>{ {'de':'Anmelden','fr':'Connexion','pl':'Zaloguj się','ru':'Вход'}.get(lang,'Login')}</span></a></li><li class="rightside"><a href="./ucp.php?mode=register"><span>{ {'de':'Registrieren','fr':'Inscription','ru':'Регистрация'}.get(lang,'Register')}</span></a></li><li><a href="./faq.php">FAQ</a></li></ul>
<ul id="nav-breadcrumbs" class="nav-breadcrumbs linklist navlinks"><li class="breadcrumbs"><span class="crumb"><a href="./index.php">Board index</a></span></li></ul></div></div></div>
<a id="start_here" class="anchor"></a><div id="page-body" class="page-body" role="main">
{body}
</div>
<div id="page-footer" class="page-footer" role="contentinfo"><div class="copyright"><p class="footer-row"><span class="footer-copyright">Powered by <a href="https://www.phpbb.com/">phpBB</a>&reg; Forum Software &copy; phpBB Limited</span></p></div></div></div>
</body></html>'''
def posts(L):
    return ''.join(f'<div id="p{4100+i}" class="post has-profile {"bg2" if i%2 else "bg1"}"><div class="inner"><dl class="postprofile"><dt><a href="./memberlist.php?mode=viewprofile&amp;u={i+7}" class="username">{a}</a></dt><dd class="profile-posts"><strong>Posts:</strong> {37*(i+3)}</dd></dl><div class="postbody"><div id="post_content{4100+i}"><h3{" class=first" if not i else ""}><a href="#p{4100+i}">Re</a></h3><p class="author">by <strong>{a}</strong> &raquo; {d}</p><div class="content">{t}</div></div></div></div></div><hr class="divider" />\n' for i,(a,d,t) in enumerate(L))
def msg(h,t): return f'<div class="panel" id="message"><div class="inner"><h2 class="message-title">{h}</h2><p>{t}</p></div></div>'
def mini(title,body,lang='',extra=''):
    return f'<!DOCTYPE html>\n<html{" lang=%s"%chr(34)+lang+chr(34) if lang else ""}>\n<head><meta charset="utf-8"><title>{title}</title>{extra}</head>\n<body>\n{body}\n</body>\n</html>'
def generic(u,lang,menu,site,title,body,ok=True,desc='',extra=''):
    """own CMS: bootstrap-like"""
    b=base(u)
    return f'''<!doctype html>
<html lang="{lang}">
<head><meta charset="utf-8"><title>{title} | {site}</title>
<meta name="viewport" content="width=device-width, initial-scale=1, shrink-to-fit=no">
<meta name="description" content="{H.escape(desc or site)}">
<link rel="canonical" href="{u}"><meta property="og:site_name" content="{site}"><meta property="og:title" content="{H.escape(title)}"><meta property="og:image" content="{b}/img/share.jpg">
<link rel="apple-touch-icon" sizes="180x180" href="/apple-touch-icon.png"><link rel="manifest" href="/site.webmanifest"><link rel="stylesheet" href="/assets/app.3f2a1c.css">{extra}
</head>
<body>
<header class="site-header"><nav class="navbar navbar-expand-lg navbar-light"><a class="navbar-brand" href="/">{site}</a><div class="collapse navbar-collapse" id="navMain"><ul class="navbar-nav mr-auto">{lis(menu,'','nav-item','nav-link')}</ul><form class="form-inline" action="/search"><input class="form-control" type="search" name="q"></form></div></nav></header>
<main class="container py-4">
{body}
</main>
<footer class="footer mt-auto py-3"><div class="container"><div class="row"><ul class="list-unstyled">{lis(menu,'')}</ul></div><span class="text-muted">© {site} · {FOOT[lang[:2]]}</span></div></footer>
<script src="/assets/app.3f2a1c.js" defer></script>
</body></html>'''
# ============ CHALLENGE
def cf(title,h,noscript,host_,lang):
    return f'''<!DOCTYPE html><html lang="{lang}"><head><title>{title}</title><meta http-equiv="Content-Type" content="text/html; charset=UTF-8"><meta http-equiv="X-UA-Compatible" content="IE=Edge"><meta name="robots" content="noindex,nofollow"><meta name="viewport" content="width=device-width,initial-scale=1"><style>*{{box-sizing:border-box;margin:0;padding:0}}html{{line-height:1.15;color:#313131}}</style><meta http-equiv="refresh" content="390"></head><body class="no-js"><div class="main-wrapper" role="main"><div class="main-content">{h}<noscript><div id="challenge-error-title"><div class="h2"><span class="icon-wrapper"><div class="heading-icon warning-icon"></div></span><span id="challenge-error-text">{noscript}</span></div></div></noscript></div></div><script>(function(){{window._cf_chl_opt={{cvId: '3',cZone: "{host_}",cType: 'managed',cNounce: '48391',cRay: '7f1c02a9bd7e2c3a',cHash: 'a0b1c2',cUPMDTk: "\\/?__cf_chl_tk=x.y"}};var cpo = document.createElement('script');cpo.src = '/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1?ray=7f1c02a9bd7e2c3a';document.getElementsByTagName('head')[0].appendChild(cpo);}}());</script></body></html>'''
cfh={'cf-mitigated':'challenge','server':'cloudflare'}
R('challenge','cloudflare managed','https://www.brightlamps.example/collections',cf('Just a moment...','','Enable JavaScript and cookies to continue','www.brightlamps.example','en-US'),'en',403,cfh)
R('challenge','cloudflare managed','https://forum.motorrad-sued.example/t/552',cf('Nur einen Moment…','<h1 class="zone-name-title h1">forum.motorrad-sued.example</h1><h2 class="h2" id="challenge-running">Es wird geprüft, ob die Verbindung zur Website sicher ist</h2>','Aktivieren Sie JavaScript und Cookies, um fortzufahren','forum.motorrad-sued.example','de-DE'),'de',200,cfh)
R('challenge','cloudflare managed','https://annonces-immo.example/v/22',cf('Un instant…','<h1 class="zone-name-title h1">annonces-immo.example</h1><p id="challenge-running" class="h2">Vérifiez que vous êtes humain en effectuant l’action ci-dessous.</p><div class="core-msg spacer">annonces-immo.example doit vérifier la sécurité de votre connexion avant de continuer.</div>','Activez JavaScript et les cookies pour continuer','annonces-immo.example','fr-FR'),'fr',200)
R('challenge','cloudflare managed','https://kinozal-novy.example/',cf('Один момент…','<h1 class="zone-name-title h1">kinozal-novy.example</h1><h2 class="h2">Проверяем, человек ли вы. Это может занять несколько секунд.</h2><div class="core-msg spacer">kinozal-novy.example должен проверить безопасность вашего подключения, прежде чем продолжить.</div>','Включите JavaScript и файлы cookie, чтобы продолжить','kinozal-novy.example','ru-RU'),'ru',200)
R('challenge','cloudflare managed','https://novelku.example/ch/1',cf('请稍候…','<h1 class="zone-name-title h1">novelku.example</h1><h2 class="h2">正在验证您是否是真人。这可能需要几秒钟时间。</h2><div class="core-msg spacer">继续之前，novelku.example 需要先检查您的连接的安全性。</div>','Enable JavaScript and cookies to continue','novelku.example','zh-CN'),'zh',200)
R('challenge','cloudflare managed','https://haberilk.example/ekonomi',cf('Bir dakika lütfen...','<h1 class="zone-name-title h1">haberilk.example</h1><h2 class="h2">Gerçek kişi olduğunuz doğrulanıyor. Bu işlem birkaç saniye sürebilir.</h2>','Devam etmek için JavaScript ve tanımlama bilgilerini etkinleştirin','haberilk.example','tr-TR'),'tr',200)
R('challenge','cloudflare IUAM old','https://seedbox-talk.example/',mini('Just a moment...','''<table width="100%" height="100%" cellpadding="20"><tr><td align="center" valign="middle">
<div class="cf-browser-verification cf-im-under-attack"><noscript><h1 data-translate="turn_on_js" style="color:#bd2426;">Please turn JavaScript on and reload the page.</h1></noscript>
<div id="cf-content" style="display:none"><div><div class="bubbles"></div><div class="bubbles"></div></div><h1><span data-translate="checking_browser">Checking your browser before accessing</span> seedbox-talk.example.</h1><p data-translate="process_is_automatic">This process is automatic. Your browser will redirect to your requested content shortly.</p><p data-translate="allow_5_secs">Please allow up to 5 seconds&hellip;</p></div>
<form id="challenge-form" action="/?__cf_chl_jschl_tk__=4f" method="POST"><input type="hidden" name="jschl_vc" value="1c"/><input type="hidden" name="pass" value="158"/></form></div>
<div class="attribution"><a href="https://www.cloudflare.com/5xx-error-landing?utm_source=iuam" target="_blank">DDoS protection by Cloudflare</a><br/>Ray ID: 4c31a2f0be</div></td></tr></table>''','en-US'),'en',503,{'server':'cloudflare'})
R('challenge','cloudflare captcha old','https://proxydb-list.example/',mini('Attention Required! | Cloudflare','''<div id="cf-wrapper"><div class="cf-alert cf-alert-error cf-cookie-error" id="cookie-alert" data-translate="enable_cookies">Please enable cookies.</div><div id="cf-error-details" class="cf-error-details-wrapper"><div class="cf-wrapper cf-header cf-error-overview"><h1 data-translate="challenge_headline">One more step</h1><h2 class="cf-subheadline"><span data-translate="complete_sec_check">Please complete the security check to access</span> proxydb-list.example</h2></div>
<div class="cf-section cf-highlight cf-captcha-container"><form class="challenge-form" id="challenge-form" action="/cdn-cgi/l/chk_captcha" method="get"><div class="g-recaptcha"></div></form></div>
<div class="cf-section cf-wrapper"><h2 data-translate="why_captcha_headline">Why do I have to complete a CAPTCHA?</h2><p data-translate="why_captcha_detail">Completing the CAPTCHA proves you are a human and gives you temporary access to the web property.</p><h2>What can I do to prevent this in the future?</h2><p>If you are on a personal connection, like at home, you can run an anti-virus scan on your device to make sure it is not infected with malware.</p></div></div></div>''','en-US'),'en',403,{'server':'cloudflare'})
R('challenge','ddos-guard','https://animelib-pro.example/',mini('DDoS-Guard','''<div class="container"><p id="title" class="title">Checking your browser before accessing</p><p class="domain">animelib-pro.example</p><p class="description" id="description">Please wait a few seconds. Once this check is complete, the website will open automatically</p><div class="loader"></div><noscript>JavaScript is disabled in your browser</noscript></div><footer><a href="https://ddos-guard.net">DDoS protection by DDoS-Guard</a></footer><script src="/.well-known/ddos-guard/js-challenge/index.js"></script>''','en'),'en',403,{'server':'ddos-guard'})
R('challenge','ddos-guard','https://shop-lampa.example/catalog/7',mini('DDoS-Guard','''<div class="container"><p class="title">Проверка браузера перед переходом на сайт</p><p class="domain">shop-lampa.example</p><p class="description">Пожалуйста, подождите несколько секунд. После завершения проверки сайт откроется автоматически</p></div><script>document.title;</script><script src="/.well-known/ddos-guard/check?context=free_splash"></script>''','ru'),'ru',200,{'server':'ddos-guard'})
R('challenge','datadome','https://www.sneakerloft.example/',"<html lang=\"en\"><head><title>sneakerloft.example</title><style>#cmsg{animation: A 1.5s;}@keyframes A{0%{opacity:0;}99%{opacity:0;}100%{opacity:1;}}</style></head><body style=\"margin:0\"><p id=\"cmsg\">Please enable JS and disable any ad blocker</p><script data-cfasync=\"false\">var dd={'rt':'c','cid':'AHrlqAAAAAMA','hsh':'2211F522B61E269B869FA6EAFFB5E1','t':'fe','s':17434,'e':'b5e','host':'geo.captcha-delivery.com'}</script><script data-cfasync=\"false\" src=\"https://ct.captcha-delivery.com/c.js\"></script></body></html>",'en',403,{'x-datadome':'protected'})
R('challenge','datadome inline','https://www.leboncoing.example/ad/99',mini('leboncoing.example','''<div class="captcha"><h1>Vous avez été bloqué(e)</h1><p>Vous lisez ceci car quelque chose dans le comportement de votre navigateur nous a intrigué.</p><ul><li>vous surfez et cliquez à une vitesse surhumaine</li><li>quelque chose bloque le fonctionnement de javascript sur votre ordinateur</li><li>un robot est sur le même réseau (IP) que vous</li></ul><p>Faites glisser vers la droite pour compléter le puzzle</p><iframe src="https://geo.captcha-delivery.com/captcha/?initialCid=AH" title="DataDome CAPTCHA" width="100%" height="100%"></iframe></div>''','fr'),'fr')
R('challenge','perimeterx','https://www.homes-finder.example/b/1','''<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="description" content="px-captcha"><title>Access to this page has been denied</title></head><body><div class="px-captcha-container"><div class="px-captcha-header">Before we continue...</div><div class="px-captcha-message">Press &amp; Hold to confirm you are<br>a human (and not a bot).</div><div id="px-captcha"></div><div class="px-captcha-refid">Reference ID 0c5d1e30-97fa-11ed</div></div><script>window._pxAppId = 'PXHYx10rg3'; window._pxJsClientSrc = '/HYx10rg3/init.js';</script><script src="/HYx10rg3/captcha/captcha.js?a=c&m=0"></script></body></html>''','en',403)
R('challenge','perimeterx robot or human','https://www.bigmart.example/ip/771',mini('Robot or human?','''<div class="re-captcha"><div id="sign-in-widget"><h1 id="heading">Robot or human?</h1><p class="bot-message">Activate and hold the button to confirm that you’re human. Thank You!</p><div id="px-captcha" role="main"></div><p>Try a different method</p></div></div><div class="footer"><a>Terms of Use</a><a>Privacy Policy</a><a>Do Not Sell My Personal Information</a><span>©2023 Bigmart Stores, Inc.</span></div>''','en'))
R('challenge','incapsula iframe','https://www.cityhotels.example/','<html style="height:100%"><head><META NAME="ROBOTS" CONTENT="NOINDEX, NOFOLLOW"><meta name="format-detection" content="telephone=no"><meta name="viewport" content="initial-scale=1.0"><meta http-equiv="X-UA-Compatible" content="IE=edge,chrome=1"><script src="/eth-In-whicd-Haue-for-in-most-Nam-of-Norther-my?d=www.cityhotels.example"></script></head><body style="margin:0px;height:100%"><iframe id="main-iframe" src="/_Incapsula_Resource?CWUDNSAI=20&xinfo=9-51813-0%200NNN&incident_id=441000140&edet=12&cinfo=0400" frameborder=0 width="100%" height="100%" marginheight="0px" marginwidth="0px">Request unsuccessful. Incapsula incident ID: 441000140196-98231</iframe></body></html>','en',200,{'x-iinfo':'9-51813-0 0NNN RT'})
R('challenge','imperva pardon','https://tickets.arenalive.example/e/4',mini('Pardon Our Interruption','''<div class="container"><h1>Pardon Our Interruption...</h1><p>As you were browsing something about your browser made us think you were a bot. There are a few reasons this might happen:</p><ul><li>You've disabled JavaScript in your web browser.</li><li>You're a power user moving through this website with super-human speed.</li><li>You've disabled cookies in your web browser.</li><li>A third-party browser plugin, such as Ghostery or NoScript, is preventing JavaScript from running. Additional information is available in this <a href="http://ds.tl/help-third-party-plugins">support article</a>.</li></ul><p>To regain access, please make sure that cookies and JavaScript are enabled before reloading the page.</p></div>''','en','<meta name="robots" content="noindex, nofollow"><script src="/on-you-would-thing-kill"></script>'))
R('challenge','akamai sec-cpt','https://www.fastair.example/book','''<html><head><title>&nbsp;</title></head><body><script src="/7a9-kz/x?v=1"></script><div id="sec-if-cpt-container" style="width:100%;height:100%"><div id="sec-text-if" class="custom-theme"><div class="sec-title">Powered and protected by</div><div>Privacy</div></div><iframe id="sec-cpt-if" provider="crypto" class="crypto" data-key="" data-duration=5 src="/_sec/cp_challenge/ak-challenge-4-2.htm"></iframe></div></body></html>''','en',428,{'server':'AkamaiGHost'})
R('challenge','aws waf captcha','https://api-docs.rentcar.example/','''<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Human Verification</title><script type="text/javascript">window.awsWafCookieDomainList = []; window.gokuProps = {"key":"AQIDAHj","iv":"EkQVpA","context":"b8pv"};</script><script src="https://9175d7b9f8fb.edge.captcha-sdk.awswaf.com/9175d7b9f8fb/challenge.js"></script></head><body><div id="captcha-container"></div><script>AwsWafIntegration.saveReferrer();window.addEventListener("load", function(){AwsWafCaptcha.renderCaptcha()});</script><noscript><h1>JavaScript is disabled</h1>In order to continue, we need to verify that you're not a robot. This requires JavaScript. Enable JavaScript and then reload the page.</noscript></body></html>''','en',405,{'x-amzn-waf-action':'captcha'})
def anubis(t,w,why,foot,lang): return f'''<!doctype html><html lang="{lang}"><head><title>{t}</title><link rel="stylesheet" href="/.within.website/x/xess/xess.min.css?cachebuster=1.16.0"><meta name="viewport" content="width=device-width, initial-scale=1.0"><meta name="robots" content="noindex,nofollow"><script id="anubis_version" type="application/json">"v1.18.0"</script><script id="anubis_challenge" type="application/json">{{"challenge":"0a83ff","rules":{{"algorithm":"fast","difficulty":4}}}}</script></head><body id="top"><main><h1 id="title" class="centered-div">{t}</h1><div class="centered-div"><img id="image" style="width:100%;max-width:256px;" src="/.within.website/x/cmd/anubis/static/img/pensive.webp"><p id="status">{w}</p><script async type="module" src="/.within.website/x/cmd/anubis/static/js/main.mjs"></script><div id="progress" role="progressbar"><div class="bar-inner"></div></div><details><summary>{why}</summary></details><noscript><p>{foot}</p></noscript><div id="testarea"></div></div><footer><p>Protected by <a href="https://github.com/TecharoHQ/anubis">Anubis</a> from <a href="https://techaro.lol">Techaro</a>. Made with ❤️ in 🇨🇦.</p></footer></main></body></html>'''
R('challenge','anubis','https://git.openkernel.example/tree',anubis("Making sure you&#39;re not a bot!","Loading...","Why am I seeing this?</summary><p>You are seeing this because the administrator of this website has set up Anubis to protect the server against the scourge of AI companies aggressively scraping websites. This can and does cause downtime for the websites, which makes their resources inaccessible for everyone.</p><p>Anubis uses a Proof-of-Work scheme in the vein of Hashcash.</p><summary>","Sadly, you must enable JavaScript to get past this challenge.",'en'))
R('challenge','anubis','https://katalog.stadtarchiv.example/',anubis('Es wird geprüft, dass Sie kein Bot sind!','Lädt...','Warum sehe ich das?','Leider müssen Sie JavaScript aktivieren, um diese Herausforderung zu bestehen.','de'),'de')
R('challenge','google sorry','https://www.searchy.example/sorry/index',mini('https://www.searchy.example/search?q=tea','''<div style="max-width:400px;"><hr noshade size="1" style="color:#ccc;"><br><form id="captcha-form" action="index" method="post"><div id="recaptcha" class="g-recaptcha" data-sitekey="6LfwuyUT" data-callback="submitCallback"></div><input type='hidden' name='q' value='EgRb'></form><hr noshade size="1"><div style="font-size:13px;"><b>About this page</b><br><br>Our systems have detected unusual traffic from your computer network.  This page checks to see if it's really you sending the requests, and not a robot.  <a href="#">Why did this happen?</a><br><br>IP address: 203.0.113.17<br>Time: 2023-02-11T09:21:40Z<br>URL: https://www.searchy.example/search?q=tea</div></div>''',),'en',429)
R('challenge','sucuri redirect','https://www.oldvinyl.example/','''<html><title>You are being redirected...</title>
<noscript>Javascript is required. Please enable javascript before you are allowed to see this page.</noscript>
<script>var s={},u,c,U,r,i,l=0,a,e=eval,w=String.fromCharCode,sucuri_cloudproxy_js='',S='cz0iYiIuc2xpY2UoMCwxKSArICI5Ii5zbGljZSgwLDEpICsgJyc=';L=S.length;U=0;r='';var A='ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';for(u=0;u<64;u++){s[A.charAt(u)]=u;}e(r);</script></html>''','en',307,{'server':'Sucuri/Cloudproxy'})
R('challenge','vercel checkpoint','https://app.plantdiary.example/','''<!DOCTYPE html><html lang="en" data-astro-cid-nbv56vs3><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Vercel Security Checkpoint</title></head><body><div id="root"><div id="main"><div id="spinner"></div><p id="header-text">We're verifying your browser</p><noscript><p id="header-noscript-text">Enable JavaScript to continue</p></noscript><p class="footer"><a id="fix-text" href="https://vercel.link/security-checkpoint">Website owner? Click here to fix</a></p></div></div><div id="footer"><p>Vercel Security Checkpoint</p><p>|</p><p>fra1::1700141-d9</p></div><script src="/.well-known/vercel/security/static/challenge.v2.min.js"></script></body></html>''','en',429,{'x-vercel-mitigated':'challenge'})
R('challenge','siteground captcha','https://pottery-studio.example/','<html><head><link rel="icon" href="data:;"><meta http-equiv="refresh" content="0;/.well-known/sgcaptcha/?r=%2F&y=ipc:203.0.113.8:1698"></meta></head></html>','en',202,{'sg-captcha':'challenge'})
R('challenge','siteground captcha form','https://dogtrainer.example/.well-known/captcha/',mini('Robot Challenge Screen','''<div class="container"><h1 class="title">Robot Challenge Screen</h1><p>Checking the site connection security</p><p class="text">dogtrainer.example needs to review the security of your connection before proceeding. This won't take long.</p><form id="captcha-form"><img alt="captcha"><input name="captcha" placeholder="Type the characters"><button>Submit</button></form></div>''','en','<meta name="robots" content="noindex">'))
AZ='<!--\n        To discuss automated access to Amazon data please contact api-services-support@amazon.com.\n-->\n'
R('challenge','amazon captcha','https://www.amazin.example/dp/B00X',f'<!DOCTYPE html><html class="a-no-js" lang="en-us"><head><meta http-equiv="content-type" content="text/html; charset=UTF-8"><title dir="ltr">Amazin.example</title></head><body>{AZ}<div class="a-container a-padding-double-large" style="min-width:350px"><div class="a-row a-spacing-double-large"><div class="a-box a-alert a-alert-info a-spacing-base"><div class="a-box-inner"><i class="a-icon a-icon-alert"></i><h4>Enter the characters you see below</h4><p class="a-last">Sorry, we just need to make sure you\'re not a robot. For best results, please make sure your browser is accepting cookies.</p></div></div><form method="get" action="/errors/validateCaptcha" name=""><h4>Type the characters you see in this image:</h4><img src="/captcha/abc.jpg"><a onclick="window.location.reload()">Try different image</a><button type="submit" class="a-button-text">Continue shopping</button></form></div><a href="#">Conditions of Use</a> <a href="#">Privacy Policy</a></div></body></html>')
R('challenge','amazon captcha','https://www.amazin-de.example/dp/B01',f'<!DOCTYPE html><html class="a-no-js" lang="de"><head><title dir="ltr">Amazin.example</title></head><body>{AZ}<div class="a-container"><h4>Geben Sie die angezeigten Zeichen im Bild ein:</h4><p class="a-last">Wir bitten um Ihr Verständnis und wollen uns sicher sein dass Sie kein Bot sind. Für beste Resultate, verwenden Sie bitte einen Browser der Cookies akzeptiert.</p><form action="/errors/validateCaptcha"><button type="submit">Weiter einkaufen</button></form><a href="#">Unsere AGB</a> <a href="#">Datenschutzerklärung</a></div></body></html>','de')
R('challenge','kasada','https://www.realhouse-au.example/buy','<html><head><title></title></head><body><script>window.KPSDK={};KPSDK.now=typeof performance!=="undefined"&&performance.now?performance.now.bind(performance):Date.now.bind(Date);KPSDK.start=KPSDK.now();</script><script src="/149e9513-01fa-4fb0-aad4-566afd725d1b/2d206a39-8ed7-437e-a3be-862e0f06eea3/ips.js?tkrm_alpekz_s1.3=0JS"></script></body></html>','en',429)
R('challenge','f5 shape js','https://ebank.lakecu.example/','<html><head><noscript><title>Please enable JavaScript to view the page content.<br/>Your support ID is: 1287340981243.</title></noscript><script type="text/javascript" src="/TSPD/08e2?type=11"></script></head><body><noscript>Please enable JavaScript to view the page content.<br/>Your support ID is: 12873409812438912.</noscript></body></html>')
R('challenge','testcookie aes','https://mybandsite.example/','<html><body><script type="text/javascript" src="/aes.js" ></script><script>function toNumbers(d){var e=[];d.replace(/(..)/g,function(d){e.push(parseInt(d,16))});return e}var a=toNumbers("f655ba9d09a112d4968c63579db590b4"),b=toNumbers("98344c2eee86c3994890592585b49f80"),c=toNumbers("c24b");document.cookie="__test="+toHex(slowAES.decrypt(c,2,a,b))+"; path=/"; location.href="http://mybandsite.example/?i=1";</script><noscript>This site requires Javascript to work, please enable Javascript in your browser or use a browser with Javascript support</noscript></body></html>')
R('challenge','yandex smartcaptcha','https://poisk.example/showcaptcha',mini('Вы не робот?','''<div class="Container"><div class="CheckboxCaptcha"><form method="POST" action="/checkcaptcha" id="checkbox-captcha-form"><div class="Spacer"><span class="Text Text_weight_medium">Подтвердите, что запросы отправляли вы, а не робот</span><span class="Text">Нам очень жаль, но запросы с вашего устройства похожи на автоматические. <a class="Link">Почему это могло произойти?</a></span></div><div class="CheckboxCaptcha-Anchor"><input type="submit" class="CheckboxCaptcha-Button" value="Нажмите, чтобы продолжить"><span>Я не робот</span></div></form></div><div class="Spacer">Если у вас возникли проблемы, пожалуйста, воспользуйтесь формой обратной связи</div></div>''','ru'),'ru')
R('challenge','baidu verify','https://wappass.sousuo.example/static/captcha',mini('百度安全验证','''<div class="timeout hide-callback"><div class="timeout-img"></div><div class="timeout-title">网络不给力，请稍后重试</div><button type="button" class="timeout-button">返回首页</button></div><div class="timeout-feedback hide-callback"><p class="timeout-feedback-title">问题反馈</p></div><script src="https://ppui-static-wap.example/static/touch/js/mkdjump_v2.js"></script>''','zh-CN'),'zh')
R('challenge','wechat verify','https://mp.weixin.example/mp/wappoc_appmsgcaptcha',mini('','''<div class="weui-msg"><div class="weui-msg__icon-area"><i class="weui-icon-info weui-icon_msg"></i></div><div class="weui-msg__text-area"><h2 class="weui-msg__title">环境异常</h2><p class="weui-msg__desc">当前环境异常，完成验证后即可继续访问。</p></div><div class="weui-msg__opr-area"><p class="weui-btn-area"><a href="javascript:;" class="weui-btn weui-btn_primary" id="js_verify">去验证</a></p></div></div>''','zh'),'zh')
R('challenge','aliyun slider','https://list.taobuy.example/_____tmd_____/punish',mini('验证码拦截','''<div class="bx-pu-qrcode-wrap"><div class="warnning-text"><p>亲，请按照说明进行验证哦</p></div><div id="nocaptcha" class="nc-container"><span class="nc-lang-cnt">请按住滑块，拖动到最右边</span></div><p>很抱歉，由于检测到您的网络环境异常，请完成验证后继续访问</p></div><script>window._config_ = {"action": "captcha","url": "/_____tmd_____/punish"}</script>'''),'zh')
R('challenge','imunify360','https://cheapvps-blog.example/','<!DOCTYPE html><html><head><title>One moment, please...</title><style>body{background:#F6F7F8;}.spinner{}</style></head><body><h1>Please wait while your request is being verified...</h1><form id="wsidchk-form" style="display:none;" action="/z0f76a1d14fd21a8fb5fd0d03e0fdc3d3cedae52f" method="GET"><input type="hidden" id="wsidchk" name="wsidchk"/></form><script>(function(){var west=+((+!+[])+(+!+[]+!![]+[])),east=+(!+[]);window.addEventListener("load",function(){document.getElementById("wsidchk").value=west+east;document.getElementById("wsidchk-form").submit()})})()</script></body></html>','en',200,{'server':'imunify360-webshield/1.21'})
R('challenge','altcha library','https://opac.hs-nordheim.example/vufind/Search',generic('https://opac.hs-nordheim.example/vufind/Search','de','de_uni','Hochschulbibliothek Nordheim','Sicherheitsabfrage','''<h1>Sicherheitsabfrage</h1><div class="alert alert-info">Aufgrund massenhafter automatisierter Zugriffe auf den Katalog müssen wir kurz prüfen, dass Sie ein Mensch sind. Bitte setzen Sie das Häkchen, danach gelangen Sie zu Ihrer Suche.</div><form method="post" action="/vufind/altcha"><altcha-widget challengeurl="/vufind/altcha/challenge"></altcha-widget><button class="btn btn-primary">Weiter zum Katalog</button></form>'''),'de')
R('challenge','bitninja captcha','https://hostreview.example/',mini('Waiting for the redirectiron...','''<div class="container"><h1>Your request is being checked</h1><p>The IP address you are using has been greylisted by BitNinja because of suspicious activity. Please tick the box to be removed from the list.</p><form method="post"><div class="g-recaptcha" data-sitekey="6Le"></div><input type="submit" value="Submit"></form><p>Protected by BitNinja Server Security</p></div>'''))
R('challenge','basedflare','https://imageboard.example/b/',mini('Hold on...','''<div class="container"><h3>Verifying your connection to imageboard.example</h3><div class="loader"></div><noscript><p class="red">JavaScript is required on this page.</p><details><summary>No JavaScript?</summary><ol><li><p>Run this in a linux terminal (requires <code>argon2</code> package installed):</p><code>echo "Q0g9IiQyIj..." | base64 -d | bash -s 5a</code></li><li>Paste the script output into the box and submit</li></ol></details></noscript></div><footer>Security and Performance by <a>haproxy-protection</a><br>Vey ID: 8b1f</footer>'''),'en',403)
R('challenge','facebook security check','https://www.facelike.example/checkpoint',mini('Security Check Required','''<div class="uiHeader"><h2>Security Check Required</h2></div><form action="/captcha"><p>To continue, please enter the text in the box. This helps us combat harmful behavior, detect and prevent spam and maintain the integrity of our products.</p><div class="captcha_image"></div><input name="captcha_response" placeholder="Enter the text you see"><button name="captcha_submit_text">Continue</button></form>''','en'))
R('challenge','naver style captcha','https://blog.nabor.example/post/1',mini('보안 확인','''<div id="wrap"><h1>자동입력 방지</h1><p>비정상적인 접근이 감지되어 서비스 이용이 일시적으로 제한되었습니다. 아래 이미지에 보이는 문자를 입력해 주세요.</p><img src="/captcha/img" alt="보안문자"><input type="text" id="chptcha"><a class="btn">새로고침</a><a class="btn">확인</a></div>''','ko'),'ko')
R('challenge','rakuten-like ja captcha','https://item.ichibaya.example/x/',mini('画像認証','''<div id="main"><h1>アクセスが集中しているか、自動プログラムによるアクセスの可能性があります</h1><p>お手数ですが、下の画像に表示されている文字を半角で入力し「送信」ボタンを押してください。</p><form><img src="/cap.png"><input name="c"><input type="submit" value="送信"></form></div>''','ja'),'ja')
R('challenge','polish allegro-like','https://www.aukcje-online.example/oferta/3',mini('Potwierdź, że jesteś człowiekiem','''<div class="box"><h1>Jeszcze chwila…</h1><p>Zauważyliśmy ruch przypominający działanie automatu. Potwierdź, że nie jesteś robotem, aby przejść dalej.</p><div class="h-captcha" data-sitekey="10000000-ffff"></div><p class="small">Identyfikator zdarzenia: 83cc-1a2</p></div><script src="https://js.hcaptcha.com/1/api.js" async defer></script>''','pl'),'pl')
R('challenge','radware','https://www.statebank-info.example/','''<html><head><title>Radware Page</title><meta name="robots" content="noindex"></head><body><div class="content"><h1>We apologize for the inconvenience...</h1><p>...but your activity and behavior on this site made us think that you are a bot.</p><p><b>Note:</b> A number of things could be going on here.</p><ul><li>If you are attempting to access this site using an anonymous Private/Proxy network, please disable that and try accessing site again.</li><li>Due to previously detected malicious behavior which originated from the network you're using, please request unblock to site.</li></ul><p>Please solve this CAPTCHA to request unblock to the website</p><form action="/captcha"><div class="h-captcha"></div></form><p>Incident ID: 1f0c-9a</p><script src="https://cdn.perfdrive.com/aperture/aperture.js"></script></div></body></html>''')
# ============ BLOCKED
def cferr(code,title,body): return f'''<!DOCTYPE html>
<!--[if lt IE 7]> <html class="no-js ie6 oldie" lang="en-US"> <![endif]-->
<!--[if gt IE 8]><!--> <html class="no-js" lang="en-US"> <!--<![endif]-->
<head><title>{title}</title><meta charset="UTF-8" /><meta name="robots" content="noindex, nofollow" /><link rel="stylesheet" id="cf_styles-css" href="/cdn-cgi/styles/cf.errors.css" /></head>
<body><div id="cf-wrapper"><div id="cf-error-details" class="cf-error-details-wrapper">{body}<div class="cf-error-footer cf-wrapper"><p><span class="cf-footer-item">Cloudflare Ray ID: <strong class="font-semibold">79a12f0b4c</strong></span> <span>&bull;</span> <span id="cf-footer-item-ip">Your IP: <span id="cf-footer-ip">203.0.113.40</span></span> <span>&bull;</span> Performance &amp; security by <a href="https://www.cloudflare.com/5xx-error-landing" id="brand_link">Cloudflare</a></p></div></div></div></body></html>'''
R('blocked','cloudflare blocked','https://www.uscoupon.example/',cferr('1020','Attention Required! | Cloudflare','<div class="cf-wrapper cf-header cf-error-overview"><h1 data-translate="block_headline">Sorry, you have been blocked</h1><h2 class="cf-subheadline"><span data-translate="unable_to_access">You are unable to access</span> uscoupon.example</h2></div><div class="cf-section cf-wrapper"><h2>Why have I been blocked?</h2><p>This website is using a security service to protect itself from online attacks. The action you just performed triggered the security solution. There are several actions that could trigger this block including submitting a certain word or phrase, a SQL command or malformed data.</p><h2>What can I do to resolve this?</h2><p>You can email the site owner to let them know you were blocked.</p></div>'),'en',403,{'server':'cloudflare'})
R('blocked','cloudflare 1020','https://fonts-free.example/',cferr('1020','Access denied | fonts-free.example used Cloudflare to restrict access','<div class="cf-wrapper"><h1><span>Error</span> <span>1020</span></h1><h2 class="text-gray-600">Access denied</h2></div><section><h2>What happened?</h2><p>This website is using a security service to protect itself from online attacks.</p></section>'))
R('blocked','cloudflare 1009','https://tvsport.example/',cferr('1009','Access denied | tvsport.example used Cloudflare to restrict access','<h1>Error <span>1009</span></h1><h2>Access denied</h2><p>The owner of this website (tvsport.example) has banned the country or region your IP address is in (DE) from accessing this website.</p>'))
R('blocked','akamai denied','https://www.tvretail.example/p','<HTML><HEAD>\n<TITLE>Access Denied</TITLE>\n</HEAD><BODY>\n<H1>Access Denied</H1>\n \nYou don\'t have permission to access "http&#58;&#47;&#47;www&#46;tvretail&#46;example&#47;p" on this server.<P>\nReference&#32;&#35;18&#46;5e9c2117&#46;1681&#46;1a2b3c\n</BODY>\n</HTML>','en',403,{'server':'AkamaiGHost'})
R('blocked','cloudfront','https://media.statsite.example/a','<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN" "http://www.w3.org/TR/html4/loose.dtd">\n<HTML><HEAD><META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=iso-8859-1">\n<TITLE>ERROR: The request could not be satisfied</TITLE>\n</HEAD><BODY>\n<H1>403 ERROR</H1>\n<H2>The request could not be satisfied.</H2>\n<HR noshade size="1px">\nThe Amazon CloudFront distribution is configured to block access from your country.\nWe can\'t connect to the server for this app or website at this time. There might be too much traffic or a configuration error. Try again later, or contact the app or website owner.\n<BR clear="all">\n<HR noshade size="1px">\n<PRE>\nGenerated by cloudfront (CloudFront)\nRequest ID: aN3TQ==\n</PRE>\n</BODY></HTML>','en',200,{'x-cache':'Error from cloudfront'})
R('blocked','wordfence','https://gardenmag.example/','''<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Your access to this site has been limited by the site owner</title></head><body><div class="wf-block-header"><h1>Your access to this site has been limited by the site owner</h1></div><div class="wf-block-main"><p>Your access to this service has been limited. (HTTP response code 503)</p><p>If you think you have been blocked in error, contact the owner of this site for assistance.</p><h2>Block Technical Data</h2><table><tr><th>Block Reason:</th><td>Access from your area has been temporarily limited for security reasons.</td></tr><tr><th>Time:</th><td>Tue, 14 Mar 2023 9:12:01 GMT</td></tr></table><div class="about"><h3>About Wordfence</h3><p>Wordfence is a security plugin installed on over 4 million WordPress sites. The owner of this site is using Wordfence to manage access to their site.</p></div><p class="footer">Generated by Wordfence</p></div></body></html>''')
R('blocked','sucuri firewall','https://acmeparts.example/','''<!DOCTYPE html><html lang="en" xmlns="http://www.w3.org/1999/xhtml"><head><title>Sucuri WebSite Firewall - Access Denied</title><meta name="robots" content="noindex"></head><body><div id="main-container"><header class="app-header clearfix"><div class="wrap"><span class="logo-neartext">Website Firewall</span><a href="https://sucuri.net/" class="site-link">Back to sucuri.net</a></div></header><section class="app-content access-denied clearfix"><div class="box center width-max-940"><h1 class="brand-font font-size-xtra no-margin">Access Denied - Sucuri Website Firewall</h1><p class="medium-text code-snippet">If you are the site owner (or you manage this site), please whitelist your IP or if you think this block is an error please <a href="https://support.sucuri.net">open a support ticket</a> and make sure to include the block details (displayed in the box below), so we can assist you in troubleshooting the issue.</p><h2>Block details:</h2><table class="property-table"><tr><td>Your IP:</td><td>203.0.113.5</td></tr><tr><td>Block ID:</td><td>GEO02</td></tr><tr><td>Block reason:</td><td>Access from your Country was disabled by the administrator.</td></tr></table></div></section></div></body></html>''')
R('blocked','mod_security','https://luthier.example/?s=1','<head><title>Not Acceptable!</title></head><body><h1>Not Acceptable!</h1><p>An appropriate representation of the requested resource could not be found on this server. This error was generated by Mod_Security.</p></body></html>','en',406,{'server':'Apache'})
R('blocked','f5 asm','https://portal.taxoffice.example/','<html><head><title>Request Rejected</title></head><body>The requested URL was rejected. Please consult with your administrator.<br><br>Your support ID is: 9823471098<br><br><a href=\'javascript:history.back();\'>[Go Back]</a></body></html>')
R('blocked','nginx 403','https://dl.fileserver.example/x/','<html>\n<head><title>403 Forbidden</title></head>\n<body>\n<center><h1>403 Forbidden</h1></center>\n<hr><center>nginx/1.18.0 (Ubuntu)</center>\n</body>\n</html>\n<!-- a padding to disable MSIE and Chrome friendly error page -->','en',403,{'server':'nginx/1.18.0 (Ubuntu)'})
R('blocked','apache 403','http://staff.math.example/~kb/','<!DOCTYPE HTML PUBLIC "-//IETF//DTD HTML 2.0//EN">\n<html><head>\n<title>403 Forbidden</title>\n</head><body>\n<h1>Forbidden</h1>\n<p>You don\'t have permission to access /~kb/\non this server.<br />\n</p>\n<hr>\n<address>Apache/2.4.6 (CentOS) Server at staff.math.example Port 80</address>\n</body></html>','en',403)
R('blocked','iis 403','http://www.county-gis.example/maps/','<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">\n<html xmlns="http://www.w3.org/1999/xhtml"><head><meta http-equiv="Content-Type" content="text/html; charset=iso-8859-1"/><title>403 - Forbidden: Access is denied.</title></head><body><div id="header"><h1>Server Error</h1></div><div id="content"><div class="content-container"><fieldset><h2>403 - Forbidden: Access is denied.</h2><h3>You do not have permission to view this directory or page using the credentials that you supplied.</h3></fieldset></div></div></body></html>','en',403)
R('blocked','reddit network security','https://www.readit.example/r/tea',mini('Blocked','''<div class="container"><h1>You've been blocked by network security.</h1><p>To continue, log in to your Readit account or use your developer token</p><p>If you think you've been blocked by mistake, file a ticket below and we'll look into it.</p><a href="/login">Log in</a> <a href="/support">File a ticket</a></div>'''),'en',403)
R('blocked','azure front door','https://portal.waterworks.example/','<html xmlns="http://www.w3.org/1999/xhtml"><head><meta content="text/html; charset=utf-8" http-equiv="content-type"/><style>html{height:100%}</style><title>Microsoft Azure</title></head><body><h2>The request is blocked.</h2><div id="errorref"><span>0Kx1TYwAAAADp</span></div></body></html>','en',200,{'x-azure-ref':'0Kx1TYwAAAADp'})
R('blocked','gdpr 451','https://www.prairiedaily.example/news/1',mini('Unavailable due to legal reasons','''<center><h1>451: Unavailable due to legal reasons</h1><p>We recognize you are attempting to access this website from a country belonging to the European Economic Area (EEA) including the EU which enforces the General Data Protection Regulation (GDPR) and therefore access cannot be granted at this time. For any issues, contact webmaster@prairiedaily.example or call 555-0142.</p></center>'''),'en',451)
R('blocked','gdpr unavailable','https://www.tribunepub.example/',mini('Tribune Publishing','''<div class="page-notice"><img src="/logos/tp.png" alt=""><p>Unfortunately, our website is currently unavailable in most European countries. We are engaged on the issue and committed to looking at options that support our full range of digital offerings to the EU market. We continue to identify technical compliance solutions that will provide all readers with our award-winning journalism.</p></div>'''))
R('blocked','tv geo','https://www.rtvplay.example/serie/4',generic('https://www.rtvplay.example/serie/4','es','es','RTV Play','Contenido no disponible','<section class="geo"><h1>Este contenido no está disponible en tu país</h1><p>Por cuestiones de derechos de emisión, este vídeo solo puede verse desde el territorio español. Si te encuentras en España y ves este mensaje, desactiva tu VPN.</p></section>'),'es')
R('blocked','tv geo','https://tv.svkanalen.example/v/1',generic('https://tv.svkanalen.example/v/1','sv','sv','SV-kanalen','Kan inte visas','<div class="geoblock"><h2>Videon kan inte visas utanför Sverige</h2><p>Vi har inte rättigheter att visa programmet i det land du befinner dig i.</p></div>'),'sv')
R('blocked','fortiguard','http://www.pokerzone.example/',mini('Web Filter Violation','''<div class="message-container"><div class="logo"></div><h1>FortiGuard Intrusion Prevention - Access Blocked</h1><h3>Web Page Blocked</h3><p>You have tried to access a web page which is in violation of your Internet usage policy.</p><table><tr><td>Category</td><td>Gambling</td></tr><tr><td>URL</td><td>http://www.pokerzone.example/</td></tr></table><p>To have the rating of this web page re-evaluated please click here.</p></div>'''))
R('blocked','palo alto','http://vidshare.example/','<html><head><title>Web Page Blocked</title></head><body bgcolor="#e7e8e9"><div id="content"><h1>Web Page Blocked</h1><p>Access to the web page you were trying to visit has been blocked in accordance with company policy. Please contact your system administrator if you believe this is in error.</p><p><b>User:</b> 10.1.4.2</p><p><b>URL:</b> vidshare.example/</p><p><b>Category:</b> streaming-media</p></div></body></html>')
R('blocked','rkn block','http://blocked-lib.example/',mini('Доступ ограничен','''<div class="wrap"><h1>Уважаемый абонент!</h1><p>Доступ к запрашиваемому ресурсу ограничен на основании Федерального закона от 27.07.2006 № 149-ФЗ «Об информации, информационных технологиях и о защите информации».</p><p>Проверить наличие сетевого адреса в едином реестре можно на сайте Роскомнадзора.</p></div>''','ru'),'ru')
R('blocked','tr court','http://bahisx.example/','<html><head><meta http-equiv="Content-Type" content="text/html; charset=utf-8"><title>Erişim Engellendi</title></head><body><div align="center"><p>Bu internet sitesi (bahisx.example) hakkında, Bilgi Teknolojileri ve İletişim Kurumu tarafından uygulanan 05/03/2019 tarih ve 490 sayılı karar ile erişim engeli uygulanmaktadır.</p></div></body></html>','tr')
R('blocked','tencent/aliyun waf','https://www.jixie.example/so?q=1','<!doctypehtml><html lang="zh-cn"><head><meta charset="utf-8"><meta name="data-spm" content="a3c0e"><title>405</title></head><body data-spm="7663354"><div id="block_message"></div><div class="container"><h1>405</h1><p>很抱歉，由于您访问的URL有可能对网站造成安全威胁，您的访问被阻断。</p><p>您的请求ID是： <strong>7b6c8b1616</strong></p><a href="#">误报反馈</a></div></body></html>','zh',405)
R('blocked','safedog','http://www.xinxigang.example/',mini('网站防火墙','''<div class="bg"><h2>您的请求带有不合法参数，已被网站管理员设置拦截！</h2><p>可能原因：您提交的内容包含危险的攻击请求</p><p>如何解决：1）检查提交内容；2）如网站托管，请联系空间提供商；3）普通网站访客，请联系网站管理员；</p></div>'''),'zh')
R('blocked','s3 accessdenied','https://assets.photoarc.example/','<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>AccessDenied</Code><Message>Access Denied</Message><RequestId>8XK1</RequestId><HostId>Zk3=</HostId></Error>','en',403,{'content-type':'application/xml','server':'AmazonS3'})
u='https://www.facultysoc.example/node/318'
R('blocked','drupal access denied',u,drupal(u,'en','en_uni','Faculty of Social Science','Access denied','You are not authorized to access this page.',ok=False),'en',403)
u='https://www.mairie-valbois.example/deliberations/2019'
R('blocked','drupal access denied',u,drupal(u,'fr','fr','Ville de Valbois','Accès refusé',"Vous n'êtes pas autorisé(e) à accéder à cette page.",ok=False,ver='9'),'fr')
R('blocked','phpbb ban','https://forum.retrosynth.example/index.php',phpbb('x','en','Retrosynth Board','Information',msg('Information','You have been <strong>permanently</strong> banned from this board.<br /><br />Please contact the <a href="mailto:admin@retrosynth.example">Board Administrator</a> for more information.<br /><br />A ban has been issued on your IP address.'),False))
R('blocked','adblock wall','https://www.rezeptwelt24.example/kuchen',mini('Rezeptwelt24','''<div class="adb-overlay"><div class="adb-modal"><h2>Adblocker aktiv</h2><p>Du nutzt einen Adblocker. Rezeptwelt24 finanziert sich über Werbung – bitte deaktiviere ihn für unsere Seite und lade sie anschließend neu, oder hol dir das werbefreie Abo.</p><button>Ich habe den Adblocker deaktiviert</button><a href="/abo">Werbefrei lesen</a></div></div>''','de'),'de')
R('blocked','unsupported browser','https://app.designboard.example/',mini('Unsupported browser','''<div class="unsupported"><h1>Your browser isn't supported</h1><p>Designboard works best in a recent version of Chrome, Firefox, Safari or Edge. Update your browser to keep going.</p><ul><li><a>Chrome</a></li><li><a>Firefox</a></li><li><a>Edge</a></li></ul></div>''','en','<meta name="robots" content="noindex">'))
R('blocked','js required spa','https://app.invoicer.example/','<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"/><link rel="icon" href="/favicon.ico"/><meta name="theme-color" content="#000000"/><meta name="description" content="Web site created using create-react-app"/><title>React App</title><script defer src="/static/js/main.8a1.js"></script></head><body><noscript>You need to enable JavaScript to run this app.</noscript><div id="root"></div></body></html>')
R('blocked','pl ip ban','https://sklep.narzedzia.example/',mini('Dostęp zablokowany','''<div style="text-align:center"><h1>Dostęp zablokowany</h1><p>Twój adres IP 203.0.113.77 został tymczasowo umieszczony na czarnej liście z powodu podejrzanej aktywności.</p><p>Jeżeli uważasz, że to pomyłka, napisz na adres: pomoc@narzedzia.example podając kod: FW-1180.</p></div>''','pl'),'pl')
R('blocked','ja 403','https://www.yakusho-minato.example/x',mini('403 Error','''<div id="base"><h1>403 Error</h1><p>現在、このページへのアクセスは禁止されています。</p><p>サイト管理者の方は該当ページのパーミッションや.htaccessの設定等が適切かご確認ください。</p></div>''','ja'),'ja')
R('blocked','it waf','https://www.asl-servizi.example/',mini('Accesso negato','''<h2>Accesso negato</h2><p>La richiesta è stata bloccata dai sistemi di sicurezza dell'ente. Se si ritiene che si tratti di un errore, comunicare all'assistenza il seguente codice: 1729-AF-22.</p>''','it'),'it')
# ============ RATE LIMITED
R('rate-limited','github','https://github.codehost.example/search','<!DOCTYPE html><html><head><meta charset="utf-8"><title>Rate limit &middot; CodeHost</title></head><body><div class="c"><a href="/"></a><h1>Whoa there!</h1><p>You have exceeded a secondary rate limit.<br><br>Please wait a few minutes before you try again;<br>in some cases this may take up to an hour.</p><div id="suggestions"><a href="/contact">Contact Support</a> &mdash; <a href="#">Status</a></div></div></body></html>','en',429,{'retry-after':'60'})
R('rate-limited','nginx 429','https://api.mapdata.example/','<html>\r\n<head><title>429 Too Many Requests</title></head>\r\n<body>\r\n<center><h1>429 Too Many Requests</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>','en',429)
R('rate-limited','cloudflare 1015','https://lyricsbase.example/',cferr('1015','Access denied | lyricsbase.example used Cloudflare to restrict access','<h1>Error <span>1015</span></h1><h2>You are being rate limited</h2><p>The owner of this website (lyricsbase.example) has banned you temporarily from accessing this website.</p>'))
R('rate-limited','reddit','https://old.readit.example/r/x','<!doctype html><html><head><title>Too Many Requests</title></head><body><h1>whoa there, pardner!</h1><p>we\'re sorry, but you appear to be a bot and we\'ve seen too many requests from you lately. we enforce a hard speed limit on requests that appear to come from bots to prevent abuse.</p><p>if you are not a bot but are spoofing one via your browser\'s user agent string: please change your user agent string to avoid seeing this message again.</p><p>please wait 5 second(s) and try again.</p></body></html>')
R('rate-limited','queue-it','https://queue.ticketland.example/',mini('Queue-it','''<div id="main" class="main-panel"><h1 id="lbHeader">You are now in line</h1><div id="MainPart_pProgressbarBox"><p id="MainPart_pWelcome">When it is your turn, you will have 10 minutes to enter the website.</p><span>Number of users in line ahead of you:</span><span id="MainPart_lbUsersInLineAheadOfYou">18342</span><span>Your estimated wait time is:</span><span id="MainPart_lbWhichIsIn">more than an hour</span></div><p>Queue ID: 2f1e-77</p></div><footer>Powered by Queue-it</footer>''','en'))
R('rate-limited','cloudflare waiting room','https://www.concertbuy.example/',mini('Waiting Room powered by Cloudflare','''<header><h2 class="logo">concertbuy.example</h2></header><main><h1>You are now in line.</h1><p id="waitTime">Your estimated wait time is 12 minutes. This page will auto refresh.</p><p>Thank you for your patience. Please don't close this tab or you may lose your spot.</p></main>''','en','<meta http-equiv="refresh" content="20"><meta name="robots" content="noindex">'))
R('rate-limited','queue nl','https://wachtrij.festivaltickets.example/',mini('Wachtrij','''<div class="content"><h1>Je staat in de wachtrij</h1><p>Het is erg druk op onze site. Sluit dit venster niet en ververs de pagina niet; je wordt vanzelf doorgestuurd zodra je aan de beurt bent.</p><p>Aantal wachtenden voor je: 4.211</p></div>''','nl'),'nl')
R('rate-limited','bandwidth 509','http://www.gallerycats.example/','<html><head><title>509 Bandwidth Limit Exceeded</title></head><body><h1>Bandwidth Limit Exceeded</h1>The server is temporarily unable to service your request due to the site owner reaching his/her bandwidth limit. Please try again later.<hr><address>Apache Server at www.gallerycats.example Port 80</address></body></html>','en',509)
R('rate-limited','stack exchange','https://questions.devstack.example/q/1','<html><head><title>Too Many Requests - Devstack</title></head><body><div class="wrapper"><h1>Too many requests</h1><p>This IP address (203.0.113.9) has performed an unusually high number of requests and has been temporarily rate limited. If you believe this to be in error, please contact us at team@devstack.example.</p><p>When contacting us, please include the following information in the email:</p><p>Method: rate limit<br>XID: 2119-TXL<br>IP: 203.0.113.9</p></div></body></html>')
R('rate-limited','wikimedia robot policy','https://commons.pedia.example/','<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Pedia Error</title><div class="content" role="main"><h1>Error</h1><p>Too many requests. Please contact noc@pedia.example for details on our robot policy.</p></div><div class="footer"><p>If you report this error to the system administrators, please include the details below.</p><p class="text-muted"><code>Request from 203.0.113.1 via cp3068, Varnish XID 1009<br>Error: 429, Too Many Requests</code></p></div></html>','en',429)
R('rate-limited','phpbb search flood','https://forum.aquarien.example/search.php',phpbb('x','de','Aquarienforum','Information',msg('Information','Du kannst derzeit keine weitere Suche starten. Bitte versuche es in einigen Minuten erneut.'),False),'de')
R('rate-limited','fr 429','https://www.annuaire-pros.example/r/3',generic('https://www.annuaire-pros.example/r/3','fr','Particuliers|Professionnels|Métiers|Villes|Avis|Aide|Mon compte|Se connecter',"Annuaire Pros",'Trop de requêtes','<h1>Vous consultez trop de pages</h1><p>Vous avez dépassé le nombre de fiches consultables en une heure depuis la même adresse. Revenez un peu plus tard.</p>'),'fr')
R('rate-limited','ja busy','https://kabu-joho.example/chart',mini('ただいまアクセスが集中しております','''<div class="err"><h1>アクセスが集中しております</h1><p>ただいまページが大変混み合っております。恐れ入りますが、しばらく時間をおいてから再度アクセスしてください。</p></div>''','ja'),'ja')
R('rate-limited','ru limit','https://sudact-base.example/doc/5',mini('Превышен лимит','''<div class="limit"><h3>Слишком много запросов</h3><p>С вашего IP-адреса за сутки просмотрено более 100 документов. Просмотр станет доступен снова через 14 ч. Чтобы снять ограничение, оформите подписку.</p></div>''','ru'),'ru')
R('rate-limited','json-ish scholar','https://api.scholargraph.example/','<html><head><meta name="color-scheme" content="light dark"></head><body><pre style="word-wrap: break-word; white-space: pre-wrap;">{"message": "Too Many Requests. Please wait and try again or apply for a key for higher rate limits.", "code": "429"}</pre></body></html>','en',429)
# ============ LOGIN
def wplogin(site,lang,l,msg_=''):
    return f'''<!DOCTYPE html>
<html lang="{lang}"><head><meta http-equiv="Content-Type" content="text/html; charset=UTF-8" /><title>{l[0]} &lsaquo; {site} &#8212; WordPress</title><meta name='robots' content='max-image-preview:large, noindex, noarchive' /><link rel='stylesheet' id='login-css' href='/wp-admin/css/login.min.css?ver=6.2' media='all' /></head>
<body class="login no-js login-action-login wp-core-ui"><div id="login"><h1><a href="https://wordpress.org/">Powered by WordPress</a></h1>{msg_}<form name="loginform" id="loginform" action="/wp-login.php" method="post"><p><label for="user_login">{l[1]}</label><input type="text" name="log" id="user_login" class="input"></p><div class="user-pass-wrap"><label for="user_pass">{l[2]}</label><input type="password" name="pwd" id="user_pass" class="input password-input"></div><p class="forgetmenot"><input name="rememberme" type="checkbox" id="rememberme" value="forever" /> <label for="rememberme">{l[3]}</label></p><p class="submit"><input type="submit" name="wp-submit" id="wp-submit" value="{l[0]}" /></p></form><p id="nav"><a href="/wp-login.php?action=lostpassword">{l[4]}</a></p><p id="backtoblog"><a href="/">&larr; {site}</a></p></div></body></html>'''
R('login','wp-login','https://choirmembers.example/wp-login.php',wplogin('Choir Members','en-US',['Log In','Username or Email Address','Password','Remember Me','Lost your password?']))
R('login','wp-login','https://intranet.feuerwehr-au.example/wp-login.php',wplogin('FF Au','de-DE',['Anmelden','Benutzername oder E-Mail-Adresse','Passwort','Angemeldet bleiben','Passwort vergessen?'],'<p class="message">Dieser Bereich ist nur für Mitglieder. Bitte zuerst anmelden.</p>'),'de')
R('login','mediawiki login required','https://wiki.labgroup.example/index.php?title=Protocols','''<!DOCTYPE html><html class="client-nojs" lang="en" dir="ltr"><head><meta charset="UTF-8"/><title>Login required - LabWiki</title><meta name="generator" content="MediaWiki 1.39.3"/><meta name="robots" content="noindex,nofollow"/></head><body class="mediawiki ltr sitedir-ltr ns--1 ns-special page-Special_Badtitle skin-vector"><div id="content" class="mw-body" role="main"><h1 id="firstHeading" class="firstHeading mw-first-heading">Login required</h1><div id="bodyContent"><div id="mw-content-text"><p>Please <a href="/index.php?title=Special:UserLogin" title="Special:UserLogin">log in</a> to view other pages.</p><p id="mw-returnto">Return to <a href="/index.php/Main_Page">Main Page</a>.</p></div></div></div></body></html>''')
R('login','phpbb login','https://forum.saabklub.example/viewtopic.php?t=9',phpbb('x','pl','Saab Klub','Zaloguj się',f'<form action="./ucp.php?mode=login" method="post" id="login"><div class="panel"><div class="inner"><div class="content"><h2 class="login-title">Musisz być zarejestrowanym i zalogowanym użytkownikiem, aby czytać to forum.</h2><fieldset class="fields1"><dl><dt><label for="username">Nazwa użytkownika:</label></dt><dd><input type="text" name="username" id="username"></dd></dl><dl><dt><label for="password">Hasło:</label></dt><dd><input type="password" id="password" name="password"></dd></dl><dl><dd><label><input type="checkbox" name="autologin"> Zapamiętaj mnie</label></dd></dl></fieldset></div></div></div></form>',False),'pl')
R('login','vbulletin','https://www.boatowners.example/showthread.php?t=1','''<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd"><html xmlns="http://www.w3.org/1999/xhtml" dir="ltr" lang="en"><head><meta name="generator" content="vBulletin 4.2.5" /><title>Boat Owners Forum</title></head><body><div class="above_body"><div id="header"><a name="top" href="forum.php" class="logo-image"></a></div></div><div class="body_wrapper"><div class="standard_error"><form class="block vbform" action="login.php?do=login" method="post"><h2 class="blockhead">vBulletin Message</h2><div class="blockbody formcontrols"><p class="blockrow restore">You are not logged in or you do not have permission to access this page. This could be due to one of several reasons:</p><div class="blockrow restore"><ol><li>You are not logged in. Fill in the form at the bottom of this page and try again.</li><li>You may not have sufficient privileges to access this page. Are you trying to edit someone else's post, access administrative features or some other privileged system?</li><li>If you are trying to post, the administrator may have disabled your account, or it may be awaiting activation.</li></ol></div></div></form></div></div></body></html>''')
R('login','linkedin authwall','https://www.linkedup.example/authwall',mini('Sign Up | LinkedUp','''<main class="main page-authwall authwall"><div class="authwall-join-form"><h1 class="authwall-join-form__title">Join LinkedUp</h1><form class="join-form"><input name="email-address"><input type="password" name="password"><p class="join-form__form-body-agreement">By clicking Agree &amp; Join, you agree to the LinkedUp User Agreement, Privacy Policy, and Cookie Policy.</p><button class="join-form__form-body-submit-button">Agree &amp; Join</button></form><p>Already on LinkedUp? <button class="authwall-join-form__form-toggle--bottom">Sign in</button></p></div></main>''','en','<meta name="pageKey" content="auth_wall_desktop_profile">'))
R('login','instagram','https://www.instapic.example/accounts/login/',mini('Login • Instapic','''<div id="splash-screen"></div><div><form id="loginForm"><label>Phone number, username, or email</label><input name="username"><label>Password</label><input type="password" name="password"><button>Log in</button><div>OR</div><span>Log in with Facelike</span><a href="#">Forgot password?</a></form><p>Don't have an account? <a>Sign up</a></p></div>''','en'))
R('login','facebook it','https://it.facelike.example/pagina',mini('Facelike','''<div id="content"><div class="login_form_container"><div id="header_block"><span>Accedi a Facelike</span></div><div class="pam uiBoxYellow"><div class="fsl fwb">Devi prima effettuare l'accesso.</div></div><form id="login_form"><input id="email" placeholder="E-mail o numero di telefono"><input id="pass" type="password" placeholder="Password"><button id="loginbutton">Accedi</button><a>Password dimenticata?</a> · <a>Iscriviti a Facelike</a></form></div></div>''','it'),'it')
R('login','moodle','https://moodle.uni-west.example/course/view.php?id=8','''<!DOCTYPE html><html dir="ltr" lang="de"><head><title>Uni West: Login | Moodle</title><meta name="keywords" content="moodle, Uni West: Login" /><meta name="robots" content="noindex" /></head><body id="page-login-index" class="format-site path-login pagelayout-login notloggedin"><div id="page-wrapper"><div class="login-wrapper"><div class="login-container"><div role="main"><div class="loginform"><h1 class="login-heading mb-4">Anmelden bei 'Moodle Uni West'</h1><form class="login-form" action="/login/index.php" method="post" id="login"><input name="username" placeholder="Anmeldename"><input type="password" name="password" placeholder="Kennwort"><button class="btn btn-primary btn-lg" id="loginbtn">Login</button></form><div class="login-divider"></div><h2 class="login-heading">Einige Kurse erlauben den Gastzugang</h2><form id="guestlogin"><button>Anmelden als Gast</button></form></div></div></div></div></div></body></html>''','de')
R('login','shibboleth wayf','https://wayf.edu-fed.example/ds',mini('Select your Organisation','''<div id="header"><h1>Select your organisation</h1></div><div id="content"><p>In order to access a service on host <b>journals.sci.example</b> please select or search the organisation you are affiliated with.</p><form id="IdPList"><select name="user_idp"><option>Select the organisation you are affiliated with ...</option><option>ETH</option><option>Universität Bern</option></select><input type="submit" name="Select" value="Select"><input type="checkbox"> Remember selection for this web browser session.</form></div>''','en'))
R('login','microsoft','https://login.msonline.example/common/oauth2',mini('Aanmelden bij uw account','''<div id="lightbox"><div role="heading" id="loginHeader">Aanmelden</div><input type="email" name="loginfmt" placeholder="E-mail, telefoon of Skype"><div>Geen account? <a>Maak er nu een</a></div><div><a>Hebt u geen toegang tot uw account?</a></div><input type="submit" id="idSIButton9" value="Volgende"></div><footer>Gebruiksvoorwaarden Privacy en cookies</footer>''','nl'),'nl')
R('login','gitlab','https://git.company.example/users/sign_in',mini('Sign in · GitLab','''<div class="container navless-container"><div class="flash-container"><div class="gl-alert gl-alert-danger flash-alert" data-testid="alert-danger"><div class="gl-alert-body">You need to sign in or sign up before continuing.</div></div></div><h1>GitLab Community Edition</h1><form class="gl-show-field-errors" id="new_user" action="/users/sign_in"><label for="user_login">Username or primary email</label><input id="user_login"><label>Password</label><input type="password" id="user_password"><button class="btn btn-confirm">Sign in</button></form></div>''','en','<meta content="GitLab" property="og:site_name"><meta content="GitLab Community Edition" name="description">'))
R('login','keycloak','https://sso.klinik.example/auth/realms/k',mini('Anmeldung bei Klinik','''<div class="login-pf-page"><div id="kc-header"><div id="kc-header-wrapper">Klinik SSO</div></div><div class="card-pf"><h1 id="kc-page-title">Bei Ihrem Konto anmelden</h1><form id="kc-form-login"><label for="username">Benutzername oder E-Mail</label><input id="username"><label>Passwort</label><input id="password" type="password"><a>Passwort vergessen?</a><input id="kc-login" type="submit" value="Anmelden"></form></div></div>''','de','<meta name="robots" content="noindex, nofollow">'),'de')
R('login','jira','https://jira.toolmaker.example/browse/TM-44',mini('Log in - Toolmaker Jira','''<div id="page"><header id="header"><nav class="aui-header"><a href="/secure/Dashboard.jspa">Jira</a></nav></header><section id="content"><div class="aui-page-panel"><div class="aui-message aui-message-warning warning"><p class="title"><strong>You must log in to access this page.</strong></p></div><form id="login-form"><label>Username</label><input name="os_username"><label>Password</label><input type="password" name="os_password"><input type="submit" id="login-form-submit" value="Log In"></form></div></section><footer>Atlassian Jira Project Management Software</footer></div>''','en'))
R('login','cas fr','https://cas.univ-rhone.example/cas/login',mini('CAS – Central Authentication Service','''<div id="container"><h2>Entrez votre identifiant et votre mot de passe.</h2><form id="fm1"><label for="username"><span class="accesskey">I</span>dentifiant :</label><input id="username"><label>Mot de passe :</label><input id="password" type="password"><input class="btn-submit" value="SE CONNECTER" type="submit"></form><p>Pour des raisons de sécurité, veuillez vous déconnecter et fermer votre navigateur lorsque vous avez fini d'accéder aux services authentifiés.</p></div>''','fr'),'fr')
u='https://annikasklass.example/bilder/'
R('login','wp password protected',u,wpart(u,'sv','sv','Annikas klass','Skyddad: Bilder från utflykten','<form action="/wp-login.php?action=postpass" class="post-password-form" method="post"><p>Innehållet är lösenordsskyddat. Ange lösenordet nedan för att läsa inlägget:</p><p><label for="pwbox-88">Lösenord: <input name="post_password" id="pwbox-88" type="password" spellcheck="false" size="20" /></label> <input type="submit" name="Submit" value="Skicka" /></p></form>'),'sv')
R('login','shopify password','https://candleloft.example/password',mini('Candle Loft','''<div class="password-main"><h1 class="password-heading">Opening soon</h1><p>Be the first to know when we launch.</p><form><input type="email" placeholder="Email"><button>Notify me</button></form><details-modal class="password-modal"><summary>Enter using password</summary><form action="/password"><h2>Enter store using password:</h2><input type="password" name="password"><button>Enter</button></form></details-modal><p>Are you the store owner? <a href="/admin">Log in here</a></p></div>''','en'))
u='https://www.dagbladet-vest.example/sport/8'
R('login','paywall da',u,generic(u,'da','da','Dagbladet Vest','Kun for abonnenter','<article><h1>Holdet rykker op efter drama</h1><div class="paywall"><h2>Denne artikel kræver abonnement</h2><p>Log ind, eller få den første måned for 1 kr.</p><a class="btn">Bliv abonnent</a><a class="btn">Log ind</a></div></article>'),'da')
u='https://www.glassrooms.example/Reviews/a'
R('login','glassdoor wall',u,generic(u,'en','Jobs|Companies|Salaries|Interviews|For employers|Sign in|Help|About','Glassrooms','Reviews','<div class="hardsell"><h1>Create an account to keep reading</h1><p>You have looked at three free company pages this month. It takes a minute, and it is free.</p><button>Continue with Google</button><button>Continue with Apple</button><input placeholder="Enter email"><button>Continue with email</button></div>'))
R('login','ja members','https://member.shinbun.example/article/7',mini('会員限定記事','''<div class="login-box"><h1>ログイン</h1><p>この記事は会員限定です。続きをお読みいただくにはログインまたは無料会員登録が必要です。</p><form><input placeholder="メールアドレス"><input type="password" placeholder="パスワード"><button>ログイン</button></form><a>パスワードをお忘れの方</a><a>新規会員登録</a></div>''','ja'),'ja')
R('login','zhihu-like','https://www.zhidao.example/signin',mini('知道 - 有问题，就会有答案','''<div class="SignFlow"><div class="SignFlow-tabs"><div>验证码登录</div><div>密码登录</div></div><input placeholder="手机号"><input placeholder="输入 6 位短信验证码"><button>登录/注册</button><div>未注册手机验证后自动登录，注册即代表同意《协议》《隐私保护指引》</div></div>''','zh'),'zh')
# ============ CONSENT
R('consent','yahoo','https://consent.yahoy.example/v2/collectConsent',mini('Yahoy is part of the Yahoy family of brands','''<div class="consent-wizard"><div class="consent-page"><h1>Yahoy is part of the <strong>Yahoy family of brands</strong></h1><p>The sites and apps that we own and operate, including Yahoy and AOLO, and our digital advertising service.</p><h2>When you use our sites and apps, we use cookies to:</h2><ul><li>provide our sites and apps to you</li><li>authenticate users, apply security measures, prevent spam and abuse</li></ul><p>If you click <b>'Accept all'</b>, we and our partners, including 238 who are part of the IAB Transparency &amp; Consent Framework, will also store and/or access information on a device.</p><form><button name="agree" value="agree">Accept all</button><button name="reject">Reject all</button><a>Manage privacy settings</a></form></div></div>''','en-GB'))
R('consent','google before','https://consent.searchy.example/ml',mini('Bevor Sie fortfahren','''<div class="box"><h1>Bevor Sie zu Searchy weitergehen</h1><div>Wir verwenden Cookies und Daten, um</div><ul><li>Dienste bereitzustellen und zu betreiben</li><li>Ausfälle zu prüfen und Maßnahmen gegen Spam, Betrug und Missbrauch zu ergreifen</li></ul><form action="https://consent.searchy.example/save"><input type="submit" value="Alle ablehnen"><input type="submit" value="Alle akzeptieren"></form><a>Weitere Optionen</a></div>''','de'),'de')
R('consent','pur-abo de','https://www.zeitblatt.example/zustimmung',mini('ZEITBLATT mit Werbung','''<main class="main"><div class="choice"><section class="option"><h2>Weiter mit Werbung</h2><p>Besuchen Sie zeitblatt.example wie gewohnt mit Werbung und Tracking. Ihre Zustimmung ist jederzeit widerrufbar.</p><div id="sp_message_container_"></div><button>Zustimmen und weiter</button></section><section class="option"><h2>… oder zeitblatt pur</h2><p>Nutzen Sie uns ganz ohne Werbetracking für 1,20 €/Woche.</p><a>Jetzt abschließen</a><p>Schon Pur-Abonnent? <a>Hier anmelden</a></p></section></div></main>''','de'),'de')
R('consent','privacygate nl','https://myprivacy.dpgpers.example/consent',mini('DPG Pers Privacy Gate','''<div class="message"><h1>Jouw privacy-instellingen</h1><p>Wij en onze partners gebruiken cookies om jou de beste ervaring te geven en om advertenties te tonen die bij je passen. Kies je voor weigeren, dan plaatsen we alleen functionele en analytische cookies.</p><button id="pg-accept-btn">Akkoord</button><a id="pg-configure-btn">Instellen</a></div><script>window.privacyGateConfig={}</script>''','nl'),'nl')
R('consent','cookie wall fr','https://www.cuisine-actu.example/',mini('Cuisine Actu','''<div id="appconsent"><h2>Avec votre accord, nos 412 partenaires et nous utilisons des cookies</h2><p>Vous pouvez accepter ces traceurs, ou souscrire à notre offre sans publicité ciblée à 2,99 € par mois.</p><button>Accepter et accéder gratuitement</button><button>S’abonner et refuser</button><a>Déjà abonné ?</a></div>''','fr'),'fr')
R('consent','cookie wall it','https://www.lagazzettadelnord.example/',mini('La Gazzetta del Nord','''<div class="iubenda-wall"><p class="t">Il giornalismo ha un costo</p><p>Per leggere le notizie accetta i cookie di profilazione oppure abbonati a partire da 1 euro al mese.</p><button>Accetta e continua</button><button>Rifiuta e abbonati</button></div>''','it'),'it')
R('consent','youtube es','https://consent.vidtube.example/m',mini('Antes de ir a VidTube','''<h1>Antes de ir a VidTube</h1><p>Utilizamos cookies y datos para ofrecer y mantener nuestros servicios, hacer un seguimiento de las interrupciones y medir la interacción de la audiencia.</p><form><button>Rechazar todo</button><button>Aceptar todo</button></form>''','es'),'es')
R('consent','age gate wine','https://www.brennerei-kuhn.example/',mini('Brennerei Kuhn','''<div class="agegate"><img src="/logo.svg" alt="Brennerei Kuhn"><h1>Sind Sie mindestens 18 Jahre alt?</h1><button>Ja, ich bin volljährig</button><button>Nein</button><p>Genießen Sie verantwortungsvoll.</p></div>''','de'),'de')
R('consent','age check steam','https://store.vapour.example/agecheck/app/1',mini('Witaj w sklepie Vapour','''<div class="agegate_text_container"><div class="age_gate"><p>Zawartość tego produktu może nie być odpowiednia dla wszystkich grup wiekowych. Podaj swoją datę urodzenia:</p><select name="ageDay"></select><select name="ageMonth"></select><select name="ageYear"></select><a id="view_product_page_btn">Wyświetl stronę</a><a>Anuluj</a></div></div>''','pl'),'pl')
R('consent','hcp gate','https://www.medilox.example/fachkreise',mini('Medilox Fachkreise','''<h1>Nur für medizinische Fachkreise</h1><p>Die folgenden Informationen richten sich gemäß Heilmittelwerbegesetz ausschließlich an Angehörige der Heilberufe.</p><button>Ich gehöre zu den Fachkreisen</button><a>Zurück</a><div class="doccheck"><iframe src="https://login.doccheck.example/code/?dc_id=1"></iframe></div>''','de'),'de')
R('consent','investor disclaimer','https://www.fundhouse.example/entry',mini('Fundhouse - Select your country','''<div class="splash"><h1>Please tell us who you are</h1><select><option>Choose your location</option><option>United Kingdom</option><option>Singapore</option></select><label><input type="radio"> Financial adviser</label><label><input type="radio"> Private investor</label><div class="terms" style="overflow:auto"><p>Before entering this site please read the following important legal information. The content is not directed at US persons.</p></div><label><input type="checkbox"> I have read and accept the terms</label><button>Enter site</button></div>''','en'))
R('consent','nsfw interstitial','https://bloglog.example/post/5',mini('Content warning','''<h2>Content Warning</h2><p>The blog that you are about to view may contain content only suitable for adults. In general, we do not review nor do we endorse the content of this or any blog.</p><a>I UNDERSTAND AND I WISH TO CONTINUE</a> <a>I do not wish to continue</a>''','en','<meta name="robots" content="noindex">'))
# ============ PARKED
def parked(shape,u,html,lang='en'): R('parked',shape,u,html,lang)
parked('sedo','http://tischlampen24.example/','<!DOCTYPE html><html lang="de" data-adblockkey="MFwwDQYJ"><head><meta charset="utf-8"><title>tischlampen24.example&nbsp;-&nbsp;Informationen zum Thema tischlampen24.</title><meta name="description" content="tischlampen24.example ist Ihre erste und beste Informationsquelle über tischlampen24 Hier finden Sie auch weitere interessante Links."></head><body id="afd"><div class="wrapper"><div class="container-header"><h1>tischlampen24.example</h1></div><div id="container-buybox" class="container-buybox"><p><a href="https://sedo.com/search/details/">Diese Website steht zum Verkauf!</a></p></div><div id="rs">Verwandte Suchbegriffe</div><div class="container-disclaimer"><span>Die hier angezeigten Sponsored Listings werden von dritter Seite automatisch generiert und stehen weder mit Sedo noch mit dem Inhaber der Domain in irgendeinem Zusammenhang.</span></div></div></body></html>','de')
parked('godaddy','http://smithroofingco.example/','<!doctype html><html lang="en"><head><meta charset="utf-8"/><title>smithroofingco.example</title></head><body><div id="root"><main class="pt"><span class="status">This domain is registered at GoDaddy</span><h1>smithroofingco.example</h1><p>is parked free, courtesy of GoDaddy.com.</p><a>Get This Domain</a><p>Copyright © 1999-2023 GoDaddy, LLC. All rights reserved.</p></main></div><script>window.LANDER_SYSTEM="PW"</script></body></html>')
parked('godaddy lander','http://oldclub.example/','<!DOCTYPE html><html><head><script>window.onload=function(){window.location.href="/lander"}</script></head></html>')
parked('hugedomains','https://www.hugedom.example/domain_profile.cfm?d=teafan','<html><head><title>TeaFan.example is for sale | HugeDoms</title><meta name="description" content="Painless, quick delivery of your domain name."></head><body><div class="container-dp"><h1>TeaFan.example</h1><p>This domain is for sale: <b>$2,895</b></p><a>Buy now</a><p>Or start a payment plan: $120.63/month for 24 months</p><ul><li>30-day money back guarantee</li><li>Take immediate ownership</li><li>Safe and secure shopping</li></ul><p>Since 2005, we\'ve helped thousands of people get the perfect domain name</p></div></body></html>')
parked('dan.com','https://dunn.example/buy-domain/sportive.example',mini('The domain name sportive.example is for sale','<div class="headline"><h1>The domain name <span>sportive.example</span> is for sale!</h1></div><div class="buy"><p>Make an offer</p><p>Buy now for: € 1.499</p><ul><li>Free Ownership transfer</li><li>Free Transaction support</li><li>Secure payments</li></ul></div>','en'))
parked('namecheap','http://www.greensoap.example/','<html><head><title>greensoap.example - Registered at Namecheap.com</title></head><body><div class="message-wrapper"><p class="message"><strong>greensoap.example</strong> was recently registered with <a>namecheap.com</a></p><p>Please check back later!</p></div><div class="terms">Sponsored listings displayed above are served automatically by a third party.</div></body></html>')
parked('bodis','http://wetherforecasts.example/','<!doctype html><html data-adblockkey="MFwwDQYJKoZI" lang="en"><head><meta name="robots" content="noarchive"></head><body><div id="target" style="opacity: 0"></div><script>window.park = "eyJ1dWlkIjoiMmYx";</script><script src="/bxkPQtyuX.js"></script></body></html>')
parked('ionos','http://www.malermeister-pohl.example/','<!DOCTYPE html><html lang="de"><head><meta charset="UTF-8"><title>Diese Internetpräsenz ist gerade im Aufbau</title><meta name="robots" content="noindex"></head><body class="main--is-de"><h1 class="page-section__headline">Hier entsteht eine neue Internetpräsenz.</h1><p>Diese Domain ist bereits registriert.</p><p>Sie sind der Inhaber? Loggen Sie sich in Ihr IONOS Kundenkonto ein, um die Domain einzurichten.</p></body></html>','de')
parked('ovh','http://atelier-miro.example/',mini('Félicitations ! Votre domaine a bien été créé chez OVHcloud !','<div class="content"><h1>Félicitations !</h1><p>Votre domaine a bien été créé chez OVHcloud. Il ne reste plus qu’à lui associer un hébergement et une adresse e-mail.</p><a>Commander un hébergement</a></div>','fr'),'fr')
parked('aruba','http://www.trattoriabice.example/',mini('Dominio registrato','<h1>www.trattoriabice.example</h1><p>Il sito è in costruzione. Nessun contenuto è stato ancora pubblicato dal titolare.</p><p>Hosting e Domini Aruba</p>','it'),'it')
parked('home.pl','http://meble-kuchenne.example/',mini('meble-kuchenne.example','<h1>Domena meble-kuchenne.example jest utrzymywana na serwerach nazw home.pl</h1><p>Właściciel nie opublikował jeszcze strony WWW. Możliwe, że domena jest na sprzedaż – <a>zapytaj o cenę</a>.</p>','pl'),'pl')
parked('reg.ru','http://stroymaster.example/',mini('Домен не прилинкован к директории','<div class="b-page"><h1>stroymaster.example</h1><p>Домен зарегистрирован и припаркован регистратором REG.RU. Сайт пока не размещён.</p><a>Заказать хостинг</a></div>','ru','<meta name="robots" content="noindex">'),'ru')
parked('loopia','http://www.bergsbagarn.example/',mini('Parked at Loopia','<div class="content"><h1>Parkerad hos Loopia</h1><p>Domänen har köpts och parkerats av en kund till Loopia. Logga in på Loopia Kundzon om du är ägaren.</p></div>','sv'),'sv')
parked('onamae','http://tea-kobo.example/',mini('このドメインは、お名前.comで取得されています。','<h1>このドメインは、お名前.comで取得されています。</h1><p>ドメイン取得なら国内シェア上位のお名前.com</p>','ja'),'ja')
parked('cpanel suspended','http://www.bjjacademy.example/cgi-sys/suspendedpage.cgi','<!DOCTYPE html><html><head><meta http-equiv="Content-type" content="text/html; charset=utf-8"><title>Account Suspended</title></head><body><div class="container"><i class="fas fa-user-times"></i><div class="status-reason"><span>Account Suspended</span></div><p>This Account has been suspended.</p><a href="/">Contact your hosting provider for more information.</a></div></body></html>')
parked('ubuntu default','http://vps12.example/','<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN"><html xmlns="http://www.w3.org/1999/xhtml"><head><title>Apache2 Ubuntu Default Page: It works</title></head><body><div class="main_page"><div class="page_header floating_element"><span class="floating_element">Apache2 Ubuntu Default Page</span></div><div class="section_header"><div id="about"></div>It works!</div><div class="content_section_text"><p>This is the default welcome page used to test the correct operation of the Apache2 server after installation on Ubuntu systems. If you can read this page, it means that the Apache HTTP server installed at this site is working properly. You should <b>replace this file</b> (located at <tt>/var/www/html/index.html</tt>) before continuing to operate your HTTP server.</p></div></div></body></html>')
parked('nginx welcome','http://box7.example/','<!DOCTYPE html>\n<html>\n<head>\n<title>Welcome to nginx!</title>\n<style>body{width:35em;margin:0 auto;}</style>\n</head>\n<body>\n<h1>Welcome to nginx!</h1>\n<p>If you see this page, the nginx web server is successfully installed and working. Further configuration is required.</p>\n<p><em>Thank you for using nginx.</em></p>\n</body>\n</html>')
parked('wp coming soon','https://linenbrand.example/',mini('Coming Soon','<div id="seedprod"><h1>Get Ready... Something Really Cool Is Coming Soon</h1><p>Linen Brand &mdash; launching this autumn.</p></div>','en-US','<meta name="generator" content="SeedProd Coming Soon"><meta name="robots" content="noindex">'))
# ============ NOT FOUND
def nf(shape,u,html,lang='en',st=200): R('not-found',shape,u,html,lang,st)
u='https://trailrunblog.example/2017/best'
nf('wp twentytwentyone',u,wp(u,'en','en_small','Trail Run Blog','Page not found','<header class="page-header alignwide"><h1 class="page-title">Nothing here</h1></header><div class="error-404 not-found default-max-width"><div class="page-content"><p>It looks like nothing was found at this location. Maybe try a search?</p><form role="search" method="get" class="search-form"><input type="search" class="search-field" name="s"><input type="submit" class="search-submit" value="Search"></form></div></div>',ok=False),st=404)
u='https://praxis-lindner.example/team/alt'
nf('wp divi',u,wp(u,'de','de','Praxis Lindner','Seite nicht gefunden','<div id="left-area"><article id="post-0" class="et_pb_post not_found"><div class="entry"><h1 class="not-found-title">Keine Ergebnisse gefunden</h1><p>Die angefragte Seite konnte nicht gefunden werden. Verfeinern Sie Ihre Suche oder verwenden Sie die Navigation oben, um den Beitrag zu finden.</p></div></article></div>',ok=False),'de')
u='https://www.ayto-ribera.example/tramites/55'
nf('drupal es',u,drupal(u,'es','es','Ayuntamiento de Ribera','Página no encontrada','No se ha podido encontrar la página solicitada.',ok=False),'es')
u='https://www.landkreis-musteraue.example/alt/seite'
nf('typo3 404',u,typo3(u,'de','de','Landkreis Musteraue','Seite nicht gefunden','<p>Die von Ihnen aufgerufene Adresse gibt es auf unserem neuen Internetauftritt leider nicht mehr. Nutzen Sie bitte die Suche oder das Menü.</p>',ok=False),'de')
u='https://www.scuolamusica.example/corsi/99'
nf('joomla 404',u,joomla(u,'it','it','Scuola di Musica','Errore: 404','<div class="card"><p><strong>La pagina richiesta non può essere trovata.</strong></p><p>Potrebbe non essere possibile visitare questa pagina a causa di:</p><ul><li>un segnalibro/preferito scaduto</li><li>un indirizzo digitato male</li></ul><p><a href="/">Pagina iniziale</a></p><blockquote><span class="badge bg-secondary">404</span> Articolo non trovato</blockquote></div>',ok=False),'it',404)
u='https://woolandneedle.example/products/x'
nf('shopify 404',u,shopify(u,'fr','Nouveautés|Laines|Aiguilles|Kits|Patrons|Livres|Promos|Blog|Contact','Wool & Needle','404 Introuvable','<div class="template-404 page-width center"><p>404</p><h1 class="title">Page non trouvée</h1><a href="/collections/all" class="button">Continuer les achats</a></div>',ok=False),'fr')
nf('nginx 404','https://cdn.booksite.example/a','<html>\n<head><title>404 Not Found</title></head>\n<body bgcolor="white">\n<center><h1>404 Not Found</h1></center>\n<hr><center>openresty</center>\n</body>\n</html>',st=404)
nf('apache 404','http://www.railfans.example/pics/a.html','<!DOCTYPE HTML PUBLIC "-//IETF//DTD HTML 2.0//EN">\n<html><head>\n<title>404 Not Found</title>\n</head><body>\n<h1>Not Found</h1>\n<p>The requested URL /pics/a.html was not found on this server.</p>\n<p>Additionally, a 404 Not Found\nerror was encountered while trying to use an ErrorDocument to handle the request.</p>\n</body></html>')
nf('tomcat','https://opac.townlib.example/x.do','<!doctype html><html lang="de"><head><title>HTTP Status 404 – Nicht gefunden</title></head><body><h1>HTTP Status 404 – Nicht gefunden</h1><hr class="line" /><p><b>Type</b> Status Report</p><p><b>Beschreibung</b> Der Server kann die angeforderte Ressource nicht finden oder ist nicht bereit, ihre Existenz bekannt zu geben.</p><hr class="line" /><h3>Apache Tomcat/9.0.65</h3></body></html>','de')
nf('laravel','https://tradeapp.example/z',mini('Not Found','<div class="antialiased"><div class="relative flex items-top justify-center min-h-screen"><div class="max-w-xl mx-auto"><div class="flex items-center"><div class="px-4 text-lg text-gray-500 border-r border-gray-400 tracking-wider">404</div><div class="ml-4 text-lg text-gray-500 uppercase tracking-wider">Not Found</div></div></div></div></div>','en'),st=404)
nf('nextjs','https://www.agencynext.example/q','<!DOCTYPE html><html><head><meta charSet="utf-8"/><title>404: This page could not be found</title><meta name="next-head-count" content="3"/></head><body><div id="__next"><div style="height:100vh;text-align:center"><div><h1 class="next-error-h1">404</h1><div style="display:inline-block"><h2>This page could not be found.</h2></div></div></div></div><script id="__NEXT_DATA__" type="application/json">{"props":{"pageProps":{"statusCode":404}},"page":"/_error"}</script></body></html>')
nf('github pages','https://jdoe.ghpages.example/','<!DOCTYPE html><html><head><title>Site not found &middot; GitHub Pages</title></head><body><div class="container"><h1>404</h1><p><strong>There isn\'t a GitHub Pages site here.</strong></p><p>If you\'re trying to publish one, <a href="https://help.github.com/pages/">read the full documentation</a> to learn how to set up <strong>GitHub Pages</strong>.</p></div></body></html>')
nf('vercel','https://oldproj.vrcl.example/',mini('404: NOT_FOUND','<div class="ct"><main><p class="er"><span class="dv">404</span>: NOT_FOUND</p><p>Code: <code>DEPLOYMENT_NOT_FOUND</code></p><p>ID: <code>fra1::x7</code></p></main></div>'),st=404)
nf('netlify','https://site.ntl.example/a',mini('Page Not Found','<div class="main"><div class="card"><div class="header"><h1>Page Not Found</h1></div><div class="body"><p>Looks like you\'ve followed a broken link or entered a URL that doesn\'t exist on this site.</p><p><a>← Back to our site</a></p><hr/><p>If this is your site, and you weren\'t expecting a 404 for this path, please visit Netlify\'s support guide.</p></div></div></div>','en'))
u='http://pachworkowo.blogspt.example/2013/x.html'
nf('blogger',u,'<!DOCTYPE html><html class="v2" dir="ltr"><head><meta content="blogger" name="generator"/><title>Patchworkowo</title></head><body class="loading"><div class="content"><div id="header"><h1 class="title"><a href="/">Patchworkowo</a></h1></div><div class="main section" id="main"><div class="widget Blog"><div class="blog-posts hfeed"><div class="status-msg-wrap"><div class="status-msg-body">Niestety, strona, której szukasz na tym blogu, nie istnieje.</div><div class="status-msg-border"></div></div></div></div></div><div class="sidebar"><h2>Archiwum bloga</h2><ul><li>2013 (12)</li><li>2012 (40)</li></ul><h2>O mnie</h2><a>Wyświetl mój pełny profil</a></div></div></body></html>','pl')
nf('mediawiki','https://nl.regiowiki.example/wiki/Xx','<!DOCTYPE html><html class="client-nojs" lang="nl" dir="ltr"><head><meta charset="UTF-8"/><title>Xx - Regiowiki</title><meta name="robots" content="noindex,follow"/><meta name="generator" content="MediaWiki 1.35.8"/></head><body class="mediawiki ltr ns-0 ns-subject page-Xx skin-vector"><div id="content" class="mw-body"><h1 id="firstHeading">Xx</h1><div id="mw-content-text"><div class="noarticletext mw-content-ltr"><p>Er is op het ogenblik geen tekst op deze pagina. U kunt <a>naar deze paginanaam zoeken</a> in andere pagina\'s, <a>in de logboeken zoeken</a> of deze pagina aanmaken.</p></div></div></div><div id="mw-navigation"><ul><li>Hoofdpagina</li><li>Recente wijzigingen</li><li>Willekeurige pagina</li></ul></div></body></html>','nl',404)
nf('discourse','https://meta.bikeforum.example/t/9',mini('Page Not Found - Bike Talk','<div class="page-not-found"><h1 class="title">Oops! That page doesn’t exist or is private.</h1><div class="not-found-topics row"><div class="popular-topics"><h2 class="popular-topics-title">Popular</h2><div class="not-found-topic"><a>Tubeless for winter</a></div><div class="not-found-topic"><a>Which rack for a 26" frame?</a></div></div><div class="recent-topics"><h2>Recent</h2><a>Say hello here</a></div></div></div>','en','<meta name="generator" content="Discourse 3.1.0.beta4"><meta name="robots" content="noindex, nofollow">'))
nf('phpbb topic','https://forum.gpspiter.example/viewtopic.php?t=1',phpbb('x','ru','GPS Питер','Информация',msg('Информация','Запрошенной темы не существует.'),False),'ru')
u='https://www.stellenmarkt-nord.example/job/771'
nf('job expired',u,generic(u,'de','Jobs|Arbeitgeber|Gehalt|Bewerbung|Für Firmen|Inserieren|Login|Hilfe','Stellenmarkt Nord','Stellenanzeige','<h1>Dieses Inserat ist nicht mehr online</h1><p>Die Stelle „Elektroniker (m/w/d)“ wurde bereits besetzt oder vom Arbeitgeber zurückgezogen.</p><a class="btn">Ähnliche Jobs suchen</a>'),'de')
u='https://www.prodejkol.example/kolo/5'
nf('product gone',u,generic(u,'cs','cs','Prodej kol','Produkt nenalezen','<h1>Ups, tady nic není</h1><p>Produkt, který hledáte, jsme už vyřadili z nabídky. Zkuste se podívat na podobné.</p>'),'cs')
nf('video unavailable','https://www.vidtube.example/watch?v=1',mini('VidTube','<div id="player"><div class="promo-message"><h3 class="title" id="unavailable-message">This video is no longer available because the VidTube account associated with this video has been terminated.</h3></div></div>','en'))
nf('rails','https://bookclub.example/q','<!DOCTYPE html><html><head><title>The page you were looking for doesn\'t exist (404)</title></head><body class="rails-default-error-page"><div class="dialog"><div><h1>The page you were looking for doesn\'t exist.</h1><p>You may have mistyped the address or the page may have moved.</p></div><p>If you are the application owner check the logs for more information.</p></div></body></html>')
u='https://lumi-keramiikka.example/p/3'
nf('custom fi',u,generic(u,'fi','fi','Lumi Keramiikka','Sivua ei löytynyt','<h1>Hups!</h1><p>Etsimääsi sivua ei löytynyt. Se on ehkä siirretty tai poistettu.</p>'),'fi')
nf('custom ko','https://www.hanbok-shop.example/g',mini('페이지를 찾을 수 없습니다','<div class="error_wrap"><h1>페이지를 찾을 수 없습니다.</h1><p>페이지의 주소가 잘못 입력되었거나, 변경 혹은 삭제되어 요청하신 페이지를 찾을 수 없습니다.</p><a>홈으로</a></div>','ko'),'ko')
u='https://www.belediye-koy.example/d/4'
nf('custom tr',u,generic(u,'tr','tr','Köy Belediyesi','404','<div class="text-center"><h1>404</h1><h3>Aradığınız sayfa bulunamadı</h3><p>Sayfa kaldırılmış ya da adı değiştirilmiş olabilir.</p></div>'),'tr')
# ============ SERVER ERROR
def se(shape,u,html,lang='en',st=200): R('server-error',shape,u,html,lang,st)
wpdie=lambda t,b,lang: f'<!DOCTYPE html>\n<html lang="{lang}">\n<head>\n<meta http-equiv="Content-Type" content="text/html; charset=utf-8" />\n<meta name="viewport" content="width=device-width">\n<meta name=\'robots\' content=\'max-image-preview:large, noindex, follow\' />\n<title>{t}</title>\n</head>\n<body id="error-page">\n<div class="wp-die-message">{b}</div></body>\n</html>'
se('wp critical','https://cakesbyjo.example/',wpdie('WordPress &rsaquo; Error','<p>There has been a critical error on this website.</p><p><a href="https://wordpress.org/documentation/article/faq-troubleshooting/">Learn more about troubleshooting WordPress.</a></p>','en-US'),st=500)
se('wp critical','https://tischlerei-ohm.example/',wpdie('WordPress &rsaquo; Fehler','<p>Es gab einen kritischen Fehler auf deiner Website.</p><p><a>Erfahre mehr über die Problembehandlung in WordPress.</a></p>','de-DE'),'de')
se('wp db','https://surfschool.example/','<!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"><head><title>Database Error</title></head><body><h1>Error establishing a database connection</h1></body></html>')
se('wp maintenance','https://nagoya-walk.example/',wpdie('メンテナンス','<h1>現在メンテナンス中のため、しばらくの間ご利用いただけません。</h1>','ja'),'ja',503)
se('drupal error','https://www.museum-oost.example/','The website encountered an unexpected error. Please try again later.<br><br><em class="placeholder">Drupal\\Core\\Database\\DatabaseExceptionWrapper</em>: SQLSTATE[42S02]: Base table or view not found')
se('cloudflare 521','https://torrentless.example/',cferr('521','torrentless.example | 521: Web server is down','<header><h1><span>Web server is down</span> <span class="code-label">Error code 521</span></h1><div>Visit cloudflare.com for more information.</div></header><div>You<br>Browser<br>Working</div><div>Frankfurt<br>Cloudflare<br>Working</div><div>torrentless.example<br>Host<br>Error</div><h2>What happened?</h2><p>The web server is not returning a connection. As a result, the web page is not displaying.</p>'),st=521)
se('nginx 502','https://shop.tackle.example/','<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>nginx/1.22.1</center>\r\n</body>\r\n</html>',st=502)
se('varnish','https://www.dailyworld.example/','<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN"><html><head><title>503 Backend fetch failed</title></head><body><h1>Error 503 Backend fetch failed</h1><p>Backend fetch failed</p><h3>Guru Meditation:</h3><p>XID: 3408512</p><hr><p>Varnish cache server</p></body></html>')
se('asp.net yellow','https://www.autoparts-b.example/list.aspx','<!DOCTYPE html><html><head><title>Runtime Error</title></head><body bgcolor="white"><span><H1>Server Error in \'/\' Application.<hr width=100% size=1 color=silver></H1><h2> <i>Runtime Error</i> </h2></span><b> Description: </b>An application error occurred on the server. The current custom error settings for this application prevent the details of the application error from being viewed remotely (for security reasons).<br><br><b>Details:</b> To enable the details of this specific error message to be viewable on remote machines, please create a &lt;customErrors&gt; tag within a &quot;web.config&quot; configuration file.</body></html>')
se('php fatal','http://www.chess-club.example/','<br />\n<b>Fatal error</b>:  Uncaught Error: Call to undefined function mysql_connect() in /home/chess/public_html/inc/db.php:12\nStack trace:\n#0 /home/chess/public_html/index.php(3): require()\n#1 {main}\n  thrown in <b>/home/chess/public_html/inc/db.php</b> on line <b>12</b><br />')
se('phpbb sql','https://forum.dampflok.example/','<!DOCTYPE html><html dir="ltr"><head><meta charset="utf-8"><title>General Error</title></head><body id="errorpage"><div id="wrap"><div id="acp"><div class="panel"><div id="content"><h1>General Error</h1>SQL ERROR [ mysqli ]<br /><br />Too many connections [1040]<br /><br />An sql error occurred while fetching this page. Please contact an administrator if this problem persists.</div></div></div></div></body></html>','en',503)
se('heroku','https://quizzer.example/',mini('Application error','<main><iframe src="//www.herokucdn.com/error-pages/application-error.html"></iframe><h1>Application error</h1><p>An error occurred in the application and your page could not be served. If you are the application owner, check your logs for details. You can do this from the Heroku CLI with the command <code>heroku logs --tail</code></p></main>'))
se('magento','https://www.moda-luna.example/',mini('Error 503: Service Unavailable','<main class="page-main"><h1>Service Temporarily Unavailable</h1><p>The server is temporarily unable to service your request due to maintenance downtime or capacity problems. Please try again later.</p></main>'))
se('magento report','https://lojamix.example/',mini('Há um erro','<h1>There has been an error processing your request</h1><p><em>Exception printing is disabled by default for security reasons.</em></p><p>Error log record number: 4801ab1</p>'))
se('joomla offline','https://www.klubzeglarski.example/',mini('Klub Żeglarski','<div class="outer"><div class="offline-card"><div class="header"><h1>Klub Żeglarski</h1></div><p>Witryna jest niedostępna z powodu prac konserwacyjnych.<br>Prosimy zajrzeć później.</p><div class="login"><form><input name="username" placeholder="Użytkownik"><input type="password" placeholder="Hasło"><button>Zaloguj</button></form></div></div></div>','pl','<meta name="generator" content="Joomla! - Open Source Content Management">'),'pl',503)
se('bitrix','http://zavod-detal.example/','<font color="#ff0000">MySQL Query Error!</font><br>[DB query error.]<br>Please try later.')
se('bitrix closed','http://optbaza.example/',mini('Технические работы','<h2>Извините, сайт временно недоступен</h2><p>На сервере проводятся плановые работы. Мы вернёмся через пару часов, заказы принимаем по телефону.</p>','ru'),'ru')
se('next client exc','https://stats.football.example/','<!DOCTYPE html><html><head><meta charSet="utf-8"/><meta name="next-head-count" content="2"/></head><body><div id="__next"><div><h2>Application error: a client-side exception has occurred (see the browser console for more information).</h2></div></div></body></html>')
u='https://www.gemeinde-thal.example/aktuelles'
se('typo3 oops',u,typo3(u,'de','de','Gemeinde Thal','Aktuelles','<div class="typo3-messages"><p>Oops, an error occurred! Code: 20230411092214a01c7f3e</p></div>',ok=False),'de')
u='https://www.transparencia-sul.example/licitacoes'
se('gov pt',u,generic(u,'pt','pt','Portal da Transparência','Licitações','<div class="alert alert-danger"><h1>Erro interno</h1><p>Não foi possível processar a consulta no momento. Tente novamente dentro de alguns instantes ou contate o administrador informando o protocolo 9912.</p></div>'),'pt')
se('planned maintenance fr','https://www.mutuelle-sante.example/',mini('Maintenance en cours','<div class="maint"><h1>Nous revenons très vite</h1><p>Notre site fait peau neuve. Une opération de maintenance est en cours jusqu’au lundi 7 h. Merci de votre compréhension.</p></div>','fr'),'fr',503)
se('hu maintenance','https://www.konyvbolt.example/',mini('Karbantartás','<h1>Karbantartás miatt az oldal átmenetileg nem elérhető</h1><p>Köszönjük türelmét!</p>','hu'),'hu')
# ============ CONTENT
def W(shape,u,lang,menu,site,title,text,**k): C(shape,u,wpart(u,lang,menu,site,title,text,**k),lang)
def D(shape,u,lang,menu,site,title,text): C(shape,u,drupal(u,lang,menu,site,title,paras(text),desc=text.strip()[:140]),lang)
def T(shape,u,lang,menu,site,title,text): C(shape,u,typo3(u,lang,menu,site,title,paras(text),desc=text.strip()[:140]),lang)
def J(shape,u,lang,menu,site,title,text): C(shape,u,joomla(u,lang,menu,site,title,paras(text),desc=text.strip()[:140]),lang)
def G(shape,u,lang,menu,site,title,text): C(shape,u,generic(u,lang,menu,site,title,'<h1>%s</h1>\n'%title+paras(text),desc=text.strip()[:140].replace('<','')),lang)
def S(shape,u,lang,menu,site,title,text,price,btn,cur='EUR'):
    b=f'<section class="product product--medium"><div class="product__media-wrapper"><img src="/cdn/shop/products/1.jpg" alt="{title}"></div><div class="product__info-container"><div class="product__title"><h1>{title}</h1></div><div class="price"><span class="price-item price-item--regular">{price} {cur}</span></div><product-form><form method="post" action="/cart/add" class="form"><input type="hidden" name="id" value="40"><button type="submit" name="add" class="product-form__submit button">{btn}</button></form></product-form><div class="product__description rte">{paras(text)}</div></div></section>'
    C(shape,u,shopify(u,lang,menu,site,title,b,desc=text.strip().split(chr(10))[0][:150],price=price,cur=cur),lang)
def F(shape,u,lang,site,title,L): C(shape,u,phpbb(u,lang,site,title,f'<h2 class="topic-title"><a href="{u}">{title}</a></h2>\n<div class="action-bar bar-top"><div class="pagination">{len(L)} posts &bull; Page <strong>1</strong> of <strong>1</strong></div></div>\n'+posts(L)),lang)
def sphinx(u,proj,title,body,lang='en'):
    return f'''<!DOCTYPE html>
<html class="writer-html5" lang="{lang}"><head><meta charset="utf-8" /><meta name="generator" content="Docutils 0.18.1" /><meta name="viewport" content="width=device-width, initial-scale=1.0" /><title>{title} &mdash; {proj} documentation</title><link rel="stylesheet" href="../_static/css/theme.css" type="text/css" /><link rel="canonical" href="{u}" /><link rel="index" title="Index" href="../genindex.html" /><link rel="search" title="Search" href="../search.html" /></head>
<body class="wy-body-for-nav"><div class="wy-grid-for-nav"><nav data-toggle="wy-nav-shift" class="wy-nav-side"><div class="wy-side-scroll"><div class="wy-side-nav-search"><a href="../index.html" class="icon icon-home"> {proj}</a><div role="search"><form id="rtd-search-form" class="wy-form" action="../search.html"><input type="text" name="q" placeholder="Search docs" /></form></div></div><div class="wy-menu wy-menu-vertical"><ul>{lis('en_soft','..','toctree-l1')}</ul></div></div></nav>
<section data-toggle="wy-nav-shift" class="wy-nav-content-wrap"><div class="wy-nav-content"><div class="rst-content"><div role="navigation" aria-label="Page navigation"><ul class="wy-breadcrumbs"><li><a href="../index.html" class="icon icon-home"></a></li><li class="breadcrumb-item active">{title}</li></ul></div><div role="main" class="document"><div itemprop="articleBody"><section id="s1"><h1>{title}<a class="headerlink" href="#s1" title="Permalink to this heading"></a></h1>
{body}
</section></div></div><footer><div role="contentinfo"><p>&#169; Copyright 2022.</p></div>Built with <a href="https://www.sphinx-doc.org/">Sphinx</a> using a <a href="https://github.com/readthedocs/sphinx_rtd_theme">theme</a> provided by <a href="https://readthedocs.org">Read the Docs</a>.</footer></div></div></section></div></body></html>'''
def X(shape,u,proj,title,text): C(shape,u,sphinx(u,proj,title,paras(text)))
# --- with tempting words (lookalikes)
X('docs: http errors','https://httpkit.docs.example/errors.html','httpkit','Handling HTTP errors','''When a server answers with a status in the 400 or 500 range, httpkit raises a subclass of <code>StatusError</code>. The table below lists the classes and the situations in which they occur.
<table class="docutils"><tr><td>403 Forbidden</td><td><code>Forbidden</code></td><td>You don't have permission to access the resource</td></tr><tr><td>404 Not Found</td><td><code>NotFound</code></td><td>The page does not exist</td></tr><tr><td>429 Too Many Requests</td><td><code>RateLimited</code></td><td>Slow down and honour Retry-After</td></tr><tr><td>503 Service Unavailable</td><td><code>Unavailable</code></td><td>Try again later</td></tr></table>
## Retrying
Pass a <code>Retry</code> object to the client. The default policy waits 0.5 s, 1 s and 2 s and never repeats a POST request unless you say so.
<div class="highlight-python notranslate"><div class="highlight"><pre>client = httpkit.Client(retry=Retry(total=3, on={429, 503}))
r = client.get("https://api.example/items")</pre></div></div>
If the upstream sits behind a proxy that answers 502 Bad Gateway while it restarts, add 502 to the set.''')
X('docs: captcha plugin','https://formguard.docs.example/captcha.html','FormGuard','Adding a CAPTCHA to a form','''FormGuard can ask visitors to confirm that they are human before a form is submitted. Three back ends are shipped: reCAPTCHA, hCaptcha and Turnstile.
<div class="highlight-yaml"><pre>captcha:
  provider: hcaptcha
  site_key: 10000000-ffff-ffff-ffff-000000000001
  message: "Please verify you are not a robot"</pre></div>
The widget is rendered where you place the <code>{% captcha %}</code> tag. If JavaScript is disabled the text given in <code>noscript</code> is displayed instead.
## Testing
In the test environment set <code>provider: dummy</code>; the check then always succeeds.''')
X('docs: login','https://authbase.docs.example/guide.html','AuthBase','Session login','''This chapter describes how users log in with a user name and a password and how a session is kept afterwards.
A request that lacks a valid session cookie is redirected to <code>/login</code>. After signing in, the user returns to the page asked for first; the address is kept in the <code>next</code> parameter, which is checked against a list of allowed hosts.
## Forgotten passwords
The reset mail carries a token valid for 30 minutes. Configure the lifetime with <code>RESET_TTL</code>.
## Access denied
Views decorated with <code>@needs("editor")</code> answer 403 when the role is missing. Override <code>on_denied()</code> to render your own page.''')
W('article: how anti-bot works','https://crawlnotes.example/anti-bot/','en','en_small','Crawl Notes','How “Checking your browser” pages came to be everywhere','''Anyone who reads the web with a slightly unusual browser knows the sentence: checking your browser before accessing, please allow up to five seconds. In 2013 it was an emergency measure. Ten years later it is the front door of a good part of the web.
## From captchas to silent checks
The first generation asked people to type distorted letters. The second asked them to pick traffic lights. The third asks nothing at all: a script measures how quickly a canvas is drawn and whether the mouse moves like a hand would move it, and only when in doubt does the box “Verify you are human” come up.
Operators like it because it is cheap. Visitors with screen readers like it rather less, and several of them told us that they simply leave when they see a challenge.
## What does it cost?
We measured 400 shops over a week. On average the interstitial added 3.1 seconds to the first visit. Eleven shops blocked a plain text browser entirely with “Access denied”.
What would be fairer? Perhaps signed tokens issued by the device, although that moves trust to two or three makers of operating systems. We will come back to it in the second part.
<div id="comments" class="comments-area"><h2 class="comments-title">2 thoughts</h2><ol class="comment-list"><li class="comment"><p>I get those at the library daily. – Ruth</p></li><li class="comment"><p>Part two please! – Jens</p></li></ol></div>''')
F('forum: 502 error','https://forum.selfhosters.example/viewtopic.php?t=881','en','Selfhosters','502 Bad Gateway after update to nginx 1.24',[('marek','Mon Apr 17, 2023 9:12 am','Hi all, since yesterday\'s update I only see <code>502 Bad Gateway</code> when I open Nextcloud. The log says <i>connect() failed (111: Connection refused) while connecting to upstream</i>. PHP is 8.1. Any ideas?'),('oldgeek','Mon Apr 17, 2023 9:40 am','Is php-fpm running at all? <code>systemctl status php8.1-fpm</code>. The package renames the socket on upgrade, had that twice.'),('marek','Mon Apr 17, 2023 10:02 am','It runs, but the socket is /run/php/php8.2-fpm.sock now. Changed it in the vhost, reloaded, works! Thank you so much.'),('lia','Tue Apr 18, 2023 7:55 pm','Same here with 503 Service Unavailable, same fix. Perhaps a mod can pin this.')])
F('forum: captcha help','https://board.opera-fans.example/viewtopic.php?t=12','en','Browser Fans','Endless captcha on every site',[('tuxedo','12 Jan 2022','For a week every second page asks me to prove I am human. I click the bicycles, it says verified, and then the same box again. VPN is off.'),('Hanne','12 Jan 2022','Do you block third party cookies? The pass is stored in a cookie, without it you start again each time.'),('tuxedo','13 Jan 2022','I do, but that was never a problem before... Allowed them for challenges.cloudflare.com and it is gone. Odd, but thanks.'),('Brigg','15 Jan 2022','It may also be your neighbours: behind carrier NAT you share the address with thousands of people and some of them run bots.')])
F('forum: error 403','https://www.wp-hilfe-forum.example/viewtopic.php?t=4','de','WP Hilfe','403 Forbidden beim Hochladen von Bildern',[('Gartenfee','3. Mär 2021','Hallo, seit dem Umzug kommt beim Hochladen immer „Sie haben keine Berechtigung, auf diese Seite zuzugreifen“. Die Rechte stehen auf 755. Was mache ich falsch?'),('Pixelschubser','3. Mär 2021','Schau mal, ob der Hoster ModSecurity aktiviert hat. Dateinamen mit Umlauten werden da gern abgelehnt.'),('Gartenfee','4. Mär 2021','Tatsächlich! „Frühlingsbeet.jpg“ geht nicht, „fruehling.jpg“ schon. Danke dir!')])
S('shop: product with out of stock words','https://woolandneedle.example/products/merino','en','New|Yarn|Needles|Kits|Patterns|Books|Sale|Blog|Stores|Contact|Shipping|Returns','Wool & Needle','Merino Fine – Harbour Blue','''Soft, non-superwash merino spun in Yorkshire from a single flock. 50 g balls, 200 m, for needles of 3 to 3.5 mm.
- 100% merino, 21 micron
- Hand wash at 30 degrees, dry flat
- Dye lot 118
Sorry, the shade Moss is no longer available; Harbour Blue is its closest relative. We limit orders to ten balls per customer so that everyone gets some. Log in to your account to collect points.''','7.50','Add to cart','GBP')
T('municipal: page with login words','https://www.stadt-lauenfels.example/buergerservice','de','de','Stadt Lauenfels','Online-Dienste','''Viele Anliegen können Sie bei uns rund um die Uhr erledigen. Für einige Dienste müssen Sie sich mit Ihrem BundID-Konto anmelden, andere stehen ohne Anmeldung bereit.
## Ohne Anmeldung
- Mängelmelder: Schlaglöcher, defekte Laternen, wilder Müll
- Terminvereinbarung Bürgerbüro
- Urkunden bestellen (Standesamt)
## Mit Anmeldung (Benutzername und Passwort)
- Wohnsitz ummelden
- Anwohnerparkausweis beantragen
- Hundesteuer
Passwort vergessen? Das Zurücksetzen ist nur über das Portal des Bundes möglich; wir haben keinen Zugriff auf Ihre Daten. Am 24. Juni sind die Dienste wegen Wartungsarbeiten von 6 bis 9 Uhr nicht erreichbar.
Kontakt: Bürgerbüro, Markt 3, Telefon 04153 555-0. Montag bis Freitag 8 bis 12 Uhr, donnerstags bis 18 Uhr.''')
W('article fr: consent law','https://droit-num.example/cookies-walls/','fr','fr_news','Droit & Numérique','« Accepter ou payer » : que dit vraiment la CNIL ?','''Depuis le printemps, les internautes français se voient proposer un choix sur la plupart des grands sites de presse : accepter les cookies ou s’abonner. Le procédé, appelé mur de traceurs, n’est pas interdit en soi.
Dans ses lignes directrices, l’autorité demande que l’éditeur propose une alternative réelle et équitable. Si l’accès sans consentement est payant, le tarif doit être raisonnable ; aucun montant n’est fixé.
## Le bouton « Continuer sans accepter »
Refuser doit être aussi simple qu’accepter. C’est sur ce point que plusieurs sociétés ont été condamnées en 2022, pour 60 et 150 millions d’euros.
Le Conseil d’État avait jugé en juin 2020 qu’une interdiction générale excédait les pouvoirs de la Commission. Le débat se déplace désormais à Bruxelles, où le Comité européen prépare un avis.''')
D('library: rules','https://www.lib-northgate.example/visit/rules','en','en_uni','Northgate University Library','Using the library','''All staff and students may use the library; members of the public are welcome on weekdays from 9 am to 5 pm. Please sign in at the desk.
## Access
Access to the rare books room is restricted. You will be denied entry without a valid card and an appointment. If your card has been blocked because of fines, go to the Help Desk on level 2.
## Off-campus access to e-journals
Sign in with your university username and password when asked. If a publisher's page says that you do not have access, clear your cookies and start again from the library search. Publishers block an address that downloads too many articles in a short time, so please do not use download robots.
## Food and drink
Covered drinks are fine. Hot food is not.''')
W('article es: página no encontrada','https://disenoweb-ana.example/404/','es','es','Ana Diseña','15 páginas de error 404 que dan gusto encontrar','''Nadie quiere ver el mensaje «Página no encontrada», pero ya que ocurre, que al menos arranque una sonrisa. He reunido quince ejemplos de páginas 404 con gracia.
## 1. La del museo
Un cuadro vacío y la frase: «Lo que buscas está en restauración». Sencilla y coherente con la marca.
## 2. La de la aerolínea
«Su equipaje y esta página viajan en otro vuelo». Incluye un buscador, que es lo importante.
## 3. La del estudio de animación
Un personaje llora sentado en el suelo. Debajo, enlaces a las secciones más visitadas.
## Qué debe tener toda página de error
- Un mensaje claro, sin tecnicismos
- El menú habitual
- Un buscador o enlaces útiles
- El código de estado correcto: 404 y no 200
¿Conoces otra? Déjala en los comentarios.''')
G('status page','https://status.mailhub.example/','en','Status|Incidents|Components|Subscribe|Support','MailHub Status','All systems operational','''<div class="components"><div class="component-inner-container status-green"><span class="name">Webmail</span><span class="component-status">Operational</span></div><div class="component-inner-container"><span class="name">IMAP</span><span>Operational</span></div><div class="component-inner-container"><span class="name">API</span><span>Operational</span></div></div>
## Past incidents
<div class="incident"><b>Elevated error rates on the API</b> Resolved – between 14:02 and 14:31 UTC around 4% of requests were answered with 503 Service Unavailable. A faulty node was taken out.</div>
<div class="incident"><b>Scheduled maintenance of the database</b> Completed – webmail was temporarily unavailable for 11 minutes.</div>
<div class="incident"><b>Login delays</b> Resolved – some users could not sign in because our rate limits were too strict.</div>''')
W('news: site hacked','https://www.eastshorepost.example/news/attack','en','en_news','Eastshore Post','Council website back online after cyber attack','''Eastshore Council's website is working again after an attack that left residents looking at an error page for three days.
Visitors between Monday and Thursday were met with the words “Service temporarily unavailable”. A spokesman said that the pages had been taken down as a precaution after unusual traffic was detected from several countries.
“No personal data was lost,” said the head of digital services, Mark Tennant. “We have blocked the addresses involved and everyone has been asked to change their password.”
Council tax payments due on Tuesday can be made until the end of the month without penalty. Bin collection days were published on paper and pinned up in libraries.
Opposition councillor Dee Hartley asked why the warning signs had been ignored. “We were told in March that the server was running software from 2011,” she said.
<p class="subscribe-cta">Subscribe to our morning newsletter – it's free. Already a subscriber? Log in.</p>''')
W('article ru: блокировки','https://netizen-blog.example/zapret/','ru','ru','Нетизен','Почему пишет «Доступ ограничен» и что это значит','''Вы открываете привычный сайт, а вместо него — заглушка провайдера. Разберёмся, кто и почему её показывает.
## Три вида отказа
Первый — заглушка оператора связи: ресурс внесён в реестр. Второй — сообщение самого сайта, который не обслуживает посетителей из вашей страны. Третий — проверка на робота: «Подтвердите, что вы не робот».
## Как отличить
Посмотрите на адресную строку. Если адрес сменился на страницу провайдера — это первый случай. Если в тексте есть код ошибки 1020 или 403, дело в настройках защиты сайта.
Провайдеры обязаны ограничивать доступ в течение суток после появления записи. За невыполнение предусмотрен штраф до 100 тысяч рублей.
В комментариях спрашивают про мобильный интернет: там фильтрация устроена так же.''')
G('q&a: rate limit','https://questions.devstack.example/questions/77/429','en','Questions|Tags|Users|Companies|Unanswered|Jobs|Log in|Sign up|Help|Chat|Meta','Devstack','How do I avoid “429 Too Many Requests” with this API?','''<div class="question" id="question"><div class="s-prose js-post-body" itemprop="text"><p>I fetch about 2,000 records in a loop and after the first hundred I get</p><pre><code>requests.exceptions.HTTPError: 429 Client Error: Too Many Requests</code></pre><p>The documentation only says that clients are limited. Is sleeping the right approach?</p></div><div class="post-taglist"><a class="post-tag">python</a> <a class="post-tag">rest</a></div></div>
<div id="answers"><h2>2 Answers</h2><div class="answer accepted-answer"><div class="s-prose"><p>Read the <code>Retry-After</code> header and wait for that many seconds; add some random jitter so that several workers do not come back at the same moment.</p><pre><code>if r.status_code == 429:
    time.sleep(int(r.headers.get("Retry-After", 5)))</code></pre></div></div><div class="answer"><div class="s-prose"><p>Also ask for 100 records per page instead of one at a time. You are being rate limited by number of calls, not by size.</p></div></div></div>''')
W('article: domain for sale','https://startupnames.example/parked/','en','en_small','Startup Names','The name you want is parked. Now what?','''You type the perfect name into the address bar and see “This domain is for sale”. Do not despair: most parked domains never find another buyer.
## Find out who owns it
WHOIS has been mostly empty since 2018, but the sales page normally has a form. Make an offer well below what you would pay, and wait.
## Use a broker
Brokers take between 10 and 20 percent. For names below 2,000 dollars it is hardly worth it.
## Know when to walk away
We bought ours, with a hyphen, for nine pounds, and customers find us all the same.''')
W('recipe with waiting words','https://www.smulkeuken.example/brood/','nl','nl','Smulkeuken','No-knead brood: even geduld alstublieft','''Dit brood vraagt bijna geen werk, alleen geduld. Meng het deeg ’s avonds en bak het de volgende dag.
<div class="wprm-recipe-container"><h2 class="wprm-recipe-name">No-knead brood</h2><span class="wprm-recipe-total_time">14 uur</span><ul class="wprm-recipe-ingredients"><li>430 g bloem</li><li>345 ml lauw water</li><li>1 theelepel zout</li><li>¼ theelepel gedroogde gist</li></ul><div class="wprm-recipe-instructions"><p>1. Meng alles door elkaar en dek af. Wacht 12 tot 18 uur.</p><p>2. Vouw het deeg vier keer dubbel en laat het nog een uur rijzen.</p><p>3. Verhit een gietijzeren pan in de oven op 230 graden. Bak 30 minuten met deksel en 15 minuten zonder.</p></div></div>
Mislukt? Probeer het later nog eens met iets minder water.''',typ='Recipe')
G('job offer: security','https://www.stellenmarkt-nord.example/job/880','de','Jobs|Arbeitgeber|Gehalt|Bewerbung|Für Firmen|Inserieren|Login|Hilfe','Stellenmarkt Nord','IT-Security Analyst (m/w/d) – Bot-Abwehr','''Die Hansekontor Versand GmbH betreibt Onlineshops in sechs Ländern. Für unser Team in Kiel suchen wir zum nächstmöglichen Zeitpunkt Verstärkung.
## Deine Aufgaben
- Du erkennst und blockierst automatisierte Zugriffe auf unsere Shops
- Du pflegst die Regeln der Web Application Firewall und wertest Sicherheitsabfragen (CAPTCHA) aus
- Du sorgst dafür, dass echte Kunden nie „Zugriff verweigert“ lesen
## Dein Profil
- Studium der Informatik oder Ausbildung mit Berufserfahrung
- Kenntnisse in Python, HTTP und TLS
- Gutes Deutsch und Englisch
## Wir bieten
30 Tage Urlaub, Deutschlandticket, zwei Tage Homeoffice in der Woche.
Bewerbungen bitte bis 30. September an jobs@hansekontor.example. Um online zu bewerben, melde dich an oder registriere dich.''')
W('event: waiting list','https://www.jazzkeller-blau.example/termine/','de','de','Jazzkeller Blau','Trio Lindqvist – ausverkauft, Warteliste','''Freitag, 12. Mai, Einlass 19 Uhr, Beginn 20 Uhr
Das Trio aus Malmö spielt Stücke seines neuen Albums „Sju broar“. Ausverkauft! Wer auf die Warteliste möchte, schickt uns eine Nachricht; frei gewordene Karten gehen um 19.45 Uhr an der Abendkasse weg.
Eintritt 18 €, ermäßigt 12 €. Zutritt ab 16 Jahren. Die Garderobe ist gesperrt, bitte Jacken mit in den Saal nehmen.''')
J('it: chiuso per manutenzione','https://www.piscinacomunale.example/avvisi','it','it','Piscina Comunale Valverde','Avviso: vasca grande chiusa per manutenzione','''Si informa la gentile clientela che dal 7 al 20 agosto la vasca grande resterà chiusa per lavori di manutenzione straordinaria. La vasca piccola e la palestra rimangono accessibili con i consueti orari.
Gli abbonamenti saranno prorogati di due settimane senza bisogno di richiesta. I corsi di nuoto per bambini riprendono lunedì 21 agosto.
L'accesso agli spogliatoi è vietato senza cuffia e ciabatte. Ci scusiamo per il disagio.
Orari: lun–ven 7.00–21.30, sab 8–19, dom 9–13. Tel. 0432 555 019''')
W('ja: 404 blog','https://kobito-lab.example/notfound/','ja','ja','こびとラボ','「ページが見つかりません」を自作してみた','''ブログをリニューアルしたら古いリンクが切れてしまい、「404 Not Found」が増えました。そこでエラーページを自作することにしました。
## 用意するもの
テーマの 404.php を子テーマにコピーします。検索フォームと人気記事を並べるだけでも、離脱がかなり減ります。
## 文章を考える
「お探しのページは移動または削除された可能性があります」だけでは少しさびしいので、飼い猫の写真を置きました。
## 結果
一か月で直帰率が 82% から 61% に下がりました。メンテナンス中の画面も次に作ってみるつもりです。''')
W('zh: 验证码文章','https://jishubiji.example/yanzhengma/','zh','zh','技术笔记','为什么网站总让你拖动滑块？聊聊验证码的演变','''打开网页时，你一定见过“请按住滑块，拖动到最右边”。这篇文章介绍验证码从文字到行为的变化。
## 第一代：扭曲的字母
二十年前的验证码要求输入图片中的字符，机器识别率不到百分之十。如今一个小模型就能达到九成以上。
## 第二代：选图片
点出所有的红绿灯、自行车。用户抱怨很多，视障用户几乎无法通过。
## 第三代：看行为
滑块真正关心的不是位置，而是轨迹：人手会抖动、会减速。服务端根据速度曲线判断访问是否异常，异常的请求会被拦截。
以后也许不再需要验证，登录时由手机直接证明即可。''')
G('product: security box','https://www.bikesafe.example/locks/u','en','en_shop','Bikesafe','Guardian U-lock 230','''<div class="price">£64.99</div><button class="btn">Add to basket</button>
Thieves denied. The Guardian's 16 mm shackle resisted our grinder for four minutes, long enough for most thieves to give up.
- Internal size 103 × 230 mm
- Weight 1.8 kg
- Sold Secure Gold, Thatcham approved
- Three keys with number, replacement by post
## Reviews
<div class="review"><b>★★★★★ Solid</b><p>Had an attempt in May. Scratched, not opened.</p></div><div class="review"><b>★★★ Bracket</b><p>Lock is fine, the bracket went missing on the first bump. Customer service answered after I waited a week.</p></div>
Delivery blocked? If our courier was refused access to your building we try twice more.''')
C('wiki: http 403','https://en.pedialike.example/wiki/HTTP_403','''<!DOCTYPE html><html class="client-nojs" lang="en" dir="ltr"><head><meta charset="UTF-8"/><title>HTTP 403 - Pedialike</title><meta name="generator" content="MediaWiki 1.41.0-wmf.2"/><meta name="robots" content="max-image-preview:standard"/><meta property="og:title" content="HTTP 403 - Pedialike"/><link rel="canonical" href="https://en.pedialike.example/wiki/HTTP_403"/><link rel="alternate" type="application/atom+xml" title="Pedialike Atom feed" href="/w/index.php?title=Special:RecentChanges&amp;feed=atom"/></head><body class="skin-vector skin-vector-legacy mediawiki ltr sitedir-ltr mw-hide-empty-elt ns-0 ns-subject page-HTTP_403 rootpage-HTTP_403"><div id="mw-page-base" class="noprint"></div><div id="content" class="mw-body" role="main"><h1 id="firstHeading" class="firstHeading mw-first-heading"><span class="mw-page-title-main">HTTP 403</span></h1><div id="bodyContent" class="vector-body"><div id="siteSub" class="noprint">From Pedialike, the free encyclopedia</div><div id="mw-content-text" class="mw-body-content mw-content-ltr"><div class="mw-parser-output"><p><b>HTTP 403</b> is an HTTP status code meaning access to the requested resource is forbidden. The server understood the request, but will not fulfill it, if it was correct.<sup class="reference"><a href="#cite_note-1">[1]</a></sup></p><h2><span class="mw-headline" id="Specifications">Specifications</span><span class="mw-editsection">[<a href="#">edit</a>]</span></h2><p>HTTP 403 provides a distinct error case from HTTP 401; while HTTP 401 is returned when the client has not authenticated, and implies that a successful response may be returned following valid authentication, HTTP 403 is returned when the client is not permitted access to the resource despite providing authentication such as insufficient permissions of the authenticated account.</p><p>The Apache web server returns 403 Forbidden in response to requests for URL paths that correspond to file system directories when directory listings have been disabled in the server.</p><h2><span class="mw-headline" id="See_also">See also</span></h2><ul><li>List of HTTP status codes</li><li>.htaccess</li><li>URL redirection</li></ul><h2>References</h2><ol class="references"><li>"RFC 9110", section 15.5.4.</li></ol></div></div></div></div><div id="mw-navigation"><nav id="p-navigation"><ul><li><a>Main page</a></li><li><a>Contents</a></li><li><a>Current events</a></li><li><a>Random article</a></li></ul></nav><nav id="p-personal"><ul><li>Not logged in</li><li>Talk</li><li>Contributions</li><li>Create account</li><li>Log in</li></ul></nav></div></body></html>''')
W('lyrics-like poem page','https://poetrydrawer.example/door/','en','en_small','Poetry Drawer','Access Denied','''<i>by Tamsin Orr</i>
You do not have permission to open this door,
said the door, which had opened on Sundays before.
I knocked with my number, my name and my shoe;
please wait, said the door, while we look into you.
I waited a minute, I waited a year,
the snow on the doorstep said: nobody's here.
Try again later, the hinges replied.
I turned round to leave. I was always inside.
<p class="note">From the pamphlet “Small Print”, 2021. Reproduced with permission.</p>''')
W('da: driftsinfo','https://www.forsyning-midt.example/drift/','da','da','Forsyning Midt','Driftsforstyrrelser','''Her kan du se, hvor vi arbejder på ledningsnettet, og hvor der kan mangle vand eller varme.
## Aktuelle
- Skovvej 2–40: vandet er lukket onsdag kl. 9–13 på grund af reparation
- Nørregade: fjernvarmen er midlertidigt afbrudt, vi forventer at være færdige kl. 17
## Planlagte
- Uge 23: udskiftning af målere i Birkeparken
Er dit vand brunt bagefter, så lad den kolde hane løbe i ti minutter. Selvbetjeningen er ikke tilgængelig natten til søndag. Ring til vagten på 70 55 51 10.''')
W('pl: błąd połączenia poradnik','https://poradnik-pc.example/bledy/','pl','pl','Poradnik PC','Błąd nawiązywania połączenia z bazą danych – co robić','''Jeżeli zamiast strony widzisz „Błąd podczas łączenia się z bazą danych”, nie panikuj. Najczęściej winne są cztery rzeczy.
## 1. Złe dane w wp-config.php
Sprawdź nazwę bazy, użytkownika i hasło. Po zmianie hasła w panelu trzeba je wpisać również tutaj.
## 2. Serwer bazy nie działa
Zaloguj się do phpMyAdmin. Jeśli tam też nie możesz wejść, napisz do hostingu.
## 3. Uszkodzone tabele
Dodaj linię <code>define('WP_ALLOW_REPAIR', true);</code> i otwórz stronę naprawy.
## 4. Za duży ruch
Przekroczony limit połączeń objawia się błędem 503. Pomaga wtyczka z pamięcią podręczną.''')
G('faq airline: blocked account','https://help.fastair.example/account','en','Book|Manage|Check-in|Flight status|Baggage|Special assistance|Loyalty|Help|Contact|Log in','FastAir Help','Account and login','''<div class="accordion"><h3>I cannot log in</h3><p>After five wrong passwords your account is locked for 30 minutes. Use “Forgot password” to set a new one.</p><h3>Why am I asked to prove that I am not a robot?</h3><p>We show a captcha when many searches come from one network, for example in an office.</p><h3>The page says “Something went wrong”</h3><p>Clear your cookies or try another browser. If it goes on, call us with the error code.</p><h3>Can I book without an account?</h3><p>Yes. Choose “Continue as guest” at the payment step.</p><h3>How do I delete my account?</h3><p>Open Profile, then Privacy. Points are lost for good.</p></div>''')
T('uni: password service','https://www.rz.uni-west.example/dienste/kennung','de','de_uni','Rechenzentrum Uni West','Nutzerkennung und Passwort','''Mit der Nutzerkennung melden Sie sich an allen Diensten der Universität an: E-Mail, WLAN, Moodle und Prüfungsverwaltung.
## Passwort ändern
Das Passwort ändern Sie im Selbstbedienungsportal. Es muss mindestens zwölf Zeichen haben.
## Gesperrte Kennung
Nach zehn Fehlversuchen wird die Kennung für eine Stunde gesperrt. Ist Ihr Rechner durch Schadsoftware aufgefallen, bleibt der Zugang gesperrt, bis Sie sich in der Beratung melden.
## Beratung
Gebäude C 4, Raum 012, Montag bis Donnerstag 9–16 Uhr, Freitag 9–13 Uhr, Durchwahl 3333.''')
D('government: age restricted sales','https://www.licensing-borough.example/alcohol','en','Council tax|Bins|Parking|Planning|Schools|Libraries|Housing|Benefits|Licensing|Jobs|Councillors|Consultations|Report it|Pay it|My account','Westmere Borough Council','Selling alcohol: are you over 18?','''It is against the law to sell alcohol to anyone under 18. This page tells shops and pubs what proof of age they may accept.
## Accepted documents
- passport
- photo driving licence
- card with the PASS hologram
Staff must refuse the sale if they are not sure. Put up the poster “You must be 18 or over” at the till; you can download it below.
## Penalties
A shop that sells twice within three months to a person under age may be banned from selling alcohol for up to 336 hours.
<ul class="file"><li><a href="/poster.pdf">Poster (PDF, 180 KB)</a></li><li><a href="/refusals.pdf">Refusals log (PDF, 40 KB)</a></li></ul>''')
W('ko: 서버 점검 공지','https://www.mabi-guild.example/notice/','ko','ko','길드 홈페이지','[공지] 6월 정기 점검 안내 및 업데이트 내용','''안녕하세요. 6월 15일 오전 4시부터 10시까지 정기 점검이 진행됩니다. 점검 중에는 게임에 접속할 수 없습니다.
## 업데이트 내용
- 새로운 던전 '얼어붙은 항구' 추가
- 로그인 보상 개편
- 일부 스킬의 오류 수정
## 자주 묻는 질문
점검 후 접속이 차단되었다는 메시지가 나오면 클라이언트를 다시 설치해 주세요. 보상은 17일에 우편으로 지급됩니다.''')
W('tr: erişim engeli haber','https://haberturna.example/gundem/','tr','tr','Haber Turna','Mahkeme kararıyla kapatılan site yeniden açıldı','''Üç yıldır erişim engeli bulunan kitap paylaşım sitesi, Anayasa Mahkemesi’nin kararı üzerine dün gece yeniden açıldı.
Karar metninde, sitenin tümünün engellenmesinin ölçülü olmadığı, yalnızca ilgili sayfaların kaldırılmasının yeterli olacağı belirtildi. Siteye girmek isteyenler bugüne kadar “Bu siteye erişim engellenmiştir” uyarısıyla karşılaşıyordu.
Sitenin kurucusu Elif Aras, “Okurlarımız bizi beklemiş. İlk bir saatte sunucumuz yoğunluktan hata verdi,” dedi.
Avukatlar, benzer durumdaki kırktan fazla sitenin de başvuru yapabileceğini söylüyor.''')
# --- ordinary content
W('short contact page','https://malerbetrieb-voss.example/kontakt/','de','de','Malerbetrieb Voss','Kontakt','''Malerbetrieb Voss, Lindenweg 4, 24768 Rendsburg
Telefon 04331 555 12 – Mobil 0171 555 0099
Wir rufen Sie gern zurück.''',typ='WebPage',cls='page-template-default page')
W('photo gallery','https://cat-rescue-hill.example/gallery/','en','en_small','Cat Rescue Hill','Spring kittens','<figure class="wp-block-gallery has-nested-images columns-3">'+''.join(f'<figure class="wp-block-image size-large"><img src="/wp-content/uploads/k{i}.jpg" alt="" class="wp-image-{i}"/><figcaption class="wp-element-caption">{n}</figcaption></figure>' for i,n in enumerate(['Biscuit','Mo','Pepper','Little Ann','Tiger','Socks','Bean']))+'</figure>',typ='WebPage')
W('photo gallery','https://fotoklub-brno.example/galerie/','cs','cs','Fotoklub Brno','Výstava 2022','<p>Snímky z podzimní výstavy v Domě umění.</p><div class="gallery">'+''.join(f'<a href="/f{i}.jpg"><img src="/f{i}-150.jpg" alt="{n}"></a>' for i,n in enumerate(['Mlha nad Svratkou','Tramvaj č. 4','Babička','Trh','Zimní les']))+'</div>')
S('shop product','https://bureau-papier.example/products/carnet','fr','Carnets|Stylos|Agendas|Cartes|Cadeaux|Soldes|Magasin|Contact','Bureau Papier','Carnet cousu A5 – pages pointillées','''Un carnet de 144 pages cousu à la main dans notre atelier de Nantes. Papier ivoire 90 g, qui accepte bien la plume.
- Format 14,8 × 21 cm
- Couverture en carton recyclé
- Fil de lin rouge
Expédié sous 48 h. Retours acceptés pendant 30 jours.''','14.50','Ajouter au panier')
S('shop product','https://kaffee-roesterei-ost.example/products/guji','de','de_shop','Rösterei Ost','Äthiopien Guji – Filterröstung','''Blumig, nach Pfirsich und Bergamotte. Die Bohnen stammen von 312 Kleinbauern um Shakiso und wurden gewaschen aufbereitet.
- Höhe: 1950–2100 m
- Varietät: Heirloom
- Röstung: jeden Dienstag
Mahlgrad bitte im Warenkorb auswählen.''','12.90','In den Warenkorb')
S('shop product','https://northlamp.example/products/desk','en','en_shop','Northlamp','Pivot desk lamp','''A slim desk lamp with a counterweight arm. Brass joints, cotton cable, dimmer on the base.
- Height 48 cm
- LED 6 W, 2700 K, included
- Designed in Leeds
Ships in two to four days.''','119.00','Add to cart','GBP')
S('shop product','https://miel-sierra.example/products/romero','es','es','Miel de la Sierra','Miel de romero 500 g','''Miel cruda recogida en abril en la sierra de Cazorla. Color claro, aroma suave y cristalización fina.
Ideal con queso fresco. Conservar a temperatura ambiente.''','8.20','Añadir al carrito')
W('recipe','https://nonnaida.example/lasagne/','it','it','Nonna Ida','Lasagne verdi alla bolognese','''Questa è la ricetta di mia nonna, che le preparava ogni domenica d'inverno a San Lazzaro.
## Ingredienti per 8 persone
- 500 g di farina, 4 uova, 150 g di spinaci lessati
- 400 g di polpa di manzo, 150 g di pancetta
- 1 carota, 1 costa di sedano, mezza cipolla
- 300 g di passata, un bicchiere di vino rosso
- 1 litro di besciamella, 150 g di parmigiano
## Preparazione
Tritate le verdure e fatele appassire con la pancetta. Unite la carne, sfumate con il vino e aggiungete la passata. Il ragù deve cuocere almeno tre ore a fuoco basso.
Impastate farina, uova e spinaci; tirate la sfoglia sottile e lessatela un minuto.
Alternate sfoglia, ragù, besciamella e parmigiano per sei strati. In forno a 180 gradi per 35 minuti.''',typ='Recipe')
W('recipe','https://sundaystove.example/leek-pie/','en','en_small','Sunday Stove','Leek and potato pie','''A pie for the end of the month, when the purse is thin and the leeks are fat.
## You need
- 3 leeks, 4 potatoes, 1 onion
- 200 ml cream, 2 eggs, nutmeg
- 250 g shortcrust pastry
## Method
Slice the leeks and soften them in butter for ten minutes. Boil the potatoes until just tender, then slice.
Line a tin with pastry, layer the vegetables, pour over eggs and cream. Bake at 190°C for 40 minutes.
Serve with mustard and something green.''',typ='Recipe')
W('recipe','https://babushkin-stol.example/borsch/','ru','ru','Бабушкин стол','Борщ с черносливом','''Этот борщ варили в нашей семье на Рождество. Чернослив придаёт ему лёгкий дымный вкус.
## Продукты
- говядина на кости — 700 г
- свёкла — 3 шт., капуста — четверть кочана
- картофель — 3 шт., морковь, лук
- чернослив — 10 шт.
## Как готовить
Сварите бульон, выньте мясо. Свёклу натрите и потушите с ложкой уксуса. Положите картофель, через десять минут капусту, затем свёклу и чернослив.
Дайте настояться полчаса. Подавайте со сметаной.''',typ='Recipe')
W('recipe','https://ouchi-gohan.example/nikujaga/','ja','ja','おうちごはん帖','ほくほく肉じゃが','''じゃがいもがおいしい季節になりました。今日は定番の肉じゃがです。
## 材料(4人分)
- じゃがいも 5個、玉ねぎ 1個、にんじん 1本
- 牛こま切れ肉 200g
- しょうゆ 大さじ3、砂糖 大さじ2、みりん 大さじ2
## 作り方
鍋に油を熱し、肉を炒めます。色が変わったら野菜を加え、全体に油をなじませます。
水400mlを注ぎ、あくを取ってから調味料を入れ、落としぶたをして15分煮ます。火を止めて冷ますと味がしみます。''',typ='Recipe')
W('news article','https://www.eastshorepost.example/news/ferry','en','en_news','Eastshore Post','Ferry to run until midnight in summer','''The harbour ferry will run until midnight on Fridays and Saturdays from June, the operator said yesterday.
The extra boats are paid for by a grant of £90,000 from the county. A single fare stays at £3.40.
“People kept telling us they had to leave the theatre before the last act,” said manager Lorna Pike. Taxi drivers on the north bank were less pleased.
A petition for the late boat had gathered 4,100 signatures since it was begun by two students last October.
The trial ends on 30 September. If fewer than 60 people a night use it, it will not be repeated.''')
W('news article','https://www.journal-du-val.example/actu/pont','fr','fr_news','Journal du Val','Le vieux pont rouvrira en octobre','''Fermé depuis la crue de février, le pont de la Tuilerie doit rouvrir à la mi-octobre. Les travaux de consolidation ont commencé lundi.
Deux piles sur quatre étaient fragilisées, selon le bureau d’études. Le coût est estimé à 780 000 euros, dont la moitié prise en charge par le département.
Les riverains font pour l’heure un détour de onze kilomètres. « C’est long, mais on a appris à s’organiser », sourit Maryse, boulangère.
Une passerelle provisoire pour les piétons sera posée avant la rentrée scolaire.''')
W('news article','https://www.haljandposten.example/nyheter/1','sv','sv','Häljandposten','Ny cykelväg längs ån invigd','''I lördags klippte kommunalrådet bandet för den sju kilometer långa cykelvägen mellan stationen och badplatsen.
Ett hundratal cyklister var med på premiärturen, trots duggregnet. Vägen har kostat elva miljoner kronor och har bänkar varje kilometer.
– Nu slipper jag landsvägen när jag ska till jobbet, säger Mikael Strand.
Nästa etapp, till kyrkbyn, planeras till 2025.''')
W('news article','https://jornalserra.example/cultura/feira','pt','pt','Jornal da Serra','Feira do livro reúne 30 mil pessoas na praça','''A 18ª Feira do Livro terminou no domingo com público recorde: cerca de 30 mil visitantes em nove dias.
Entre os destaques esteve a conversa com a escritora Lívia Monteiro, que lotou o coreto. As livrarias venderam 12% mais do que em 2019.
Para o próximo ano, a prefeitura promete ampliar o espaço infantil e oferecer ônibus gratuito a partir dos bairros.''')
T('department page','https://www.phys.uni-west.example/arbeitsgruppen/optik','de','de_uni','Fachbereich Physik','AG Quantenoptik','''Unsere Arbeitsgruppe untersucht die Wechselwirkung von Licht mit einzelnen Atomen in optischen Pinzetten.
## Forschung
- Rydberg-Atome in regelmäßigen Gittern
- Rauscharme Laser bei 689 nm
- Verschränkung über Glasfasern
## Mitglieder
Prof. Dr. Heike Brandis (Leitung), Dr. Tomasz Wilk, Dr. Ana Reyes, sechs Promovierende und vier Masterstudierende.
## Lehre
Im Wintersemester: Experimentalphysik III (4 SWS), Seminar „Moderne Atomphysik“, Fortgeschrittenenpraktikum.
Abschlussarbeiten: Themen bitte bei Dr. Wilk erfragen, Raum 2.118.''')
D('department page','https://hist.northgate.example/about','en','en_uni','Department of History','About the department','''History has been taught at Northgate since 1894. Today we are 31 academic staff and about 420 undergraduates.
## Strengths
- Medieval trade and towns
- Empire and the Indian Ocean
- Oral history of industry
## Teaching
First-year students take two survey courses and a workshop in the archives of the old shipping company. In the third year everyone writes a dissertation of 12,000 words.
## Visiting
We are in the Old Customs House, five minutes from the station. The undergraduate office is on the ground floor.''')
D('staff page','https://hist.northgate.example/staff/okafor','en','en_uni','Department of History','Dr Chidi Okafor','''Senior Lecturer in Economic History. Office 3.12, office hours Tuesday 2–4 pm.
## Research
I work on credit and shopkeepers in West Africa between 1880 and 1930. My current project follows the ledgers of one family firm in Lagos over three generations.
## Selected publications
- Small Debts (2019)
- “Salt, cloth and trust”, Journal of Trade History 44 (2016)
- “A ledger without numbers”, in: Paper Empires (2014)''')
T('municipal page','https://www.gemeinde-thal.example/freibad','de','de','Gemeinde Thal','Freibad','''Das Freibad am Mühlbach ist von Mitte Mai bis Mitte September täglich von 9 bis 20 Uhr geöffnet.
## Eintritt
- Erwachsene 4,00 €
- Kinder und Jugendliche 2,00 €
- Familienkarte 9,00 €
Ab 18 Uhr gilt der Abendtarif. Das Wasser hatte heute früh 21 Grad.
Im Kiosk gibt es Pommes, Eis und sonntags Kuchen vom Förderverein.''')
J('club page','https://www.klubsachowy.example/o-nas','pl','pl','Klub Szachowy Hetman','O nas','''Klub powstał w 1956 roku i ma dziś osiemdziesięciu członków, w tym trzydzieścioro dzieci.
Spotykamy się we wtorki i piątki o 17.00 w domu kultury przy ulicy Lipowej 7. Pierwsze dwa zajęcia są bezpłatne.
Drużyna seniorów gra w drugiej lidze, a Zosia Kralik zdobyła w tym roku srebrny medal mistrzostw województwa do lat 12.
Składka wynosi 40 zł miesięcznie. Zapraszamy!''')
J('club page','https://www.amicimontagna.example/gite','it','it','Amici della Montagna','Gite di giugno','''- Sabato 3: Rifugio Calvi, dislivello 900 m, ritrovo ore 6.30 al piazzale
- Domenica 11: Sentiero dei fiori con i bambini, pranzo al sacco
- Sabato 24: Notturna al Pizzo Formico, portare la frontale
Iscrizioni in sede il giovedì sera dalle 21 alle 22.30. La quota comprende l'assicurazione.''')
F('forum thread','https://forum.aquarien.example/viewtopic.php?t=77','de','Aquarienforum','Welche Garnelen für 30 Liter?',[('Moosfan','1. Feb 2022','Hallo zusammen, ich richte gerade ein kleines Becken ein, Wasser ist eher hart (14 dGH). Welche Garnelen würdet ihr nehmen?'),('Kalle','1. Feb 2022','Red Fire! Die sind robust und vermehren sich von allein.'),('NanoNina','2. Feb 2022','Finde ich auch. Fang mit zehn an und warte mindestens drei Wochen, bis das Becken eingefahren ist.'),('Moosfan','2. Feb 2022','Super, dann werden es Red Fire. Danke!')])
F('forum thread','https://forum.saabowners.example/viewtopic.php?t=31','en','Saab Owners','9-3 wipers stop halfway',[('Turbo_Ted','5 Nov 2020','My wipers stop in the middle of the screen in wet weather. Motor is warm when it happens. 2001 9-3, 140k.'),('gripen','5 Nov 2020','Linkage. The bushes dry out. Take the scuttle off, clean and grease. Forty minutes and a cup of tea.'),('Turbo_Ted','8 Nov 2020','Greased, and they fly. Cheers.'),('nils','2 Jan 2021','Did mine as well thanks to this thread. The left bush was in two pieces.')])
F('forum thread','https://forum.velo-lyon.example/viewtopic.php?t=8','fr','Vélo Lyon','Pneus 32 mm pour les pavés ?',[('Gus','14 mai 2023','Bonjour, je passe de 25 à 32 pour aller au travail par les quais. Avez-vous un modèle à conseiller ?'),('Mirabelle','14 mai 2023','Des Continental, 2 ans sans crevaison. Gonfle à 4 bars, pas plus.'),('Gus','20 mai 2023','Montés hier. Le jour et la nuit, merci !')])
F('forum thread','https://forum.gpspiter.example/viewtopic.php?t=300','ru','GPS Питер','Держатель на велосипед: какой взять?',[('Сева','4 июня 2021','Хочу поставить навигатор на руль 31,8 мм. Пластиковый уже сломался на брусчатке. Что посоветуете?'),('Lena_K','4 июня 2021','Алюминиевый с винтом снизу. Езжу третий год, не болтается.'),('Сева','9 июня 2021','Взял, на Ладоге проверил, отлично держит.')])
X('documentation','https://tinycsv.docs.example/quick.html','tinycsv','Quick start','''tinycsv reads and writes comma separated files without loading them into memory.
<div class="highlight-shell"><pre>$ pip install tinycsv</pre></div>
## Reading
<div class="highlight-python"><pre>from tinycsv import rows
for r in rows("prices.csv"):
    print(r["name"], r["price"])</pre></div>
Types are guessed from the first hundred lines. Give <code>types=</code> if you know better.
## Writing
Use <code>Writer</code> as a context manager; the header is written with the first row.''')
X('documentation','https://stellar-plot.docs.example/colour.html','stellarplot','Choosing colours','''Every plotting function takes a <code>palette</code> argument: a name or a list of hex values.
The built-in palettes are <i>dusk</i>, <i>moss</i>, <i>slate</i> and <i>signal</i>. All four remain readable in greyscale.
## Diverging data
Use <code>moss_slate</code> with the <code>center</code> argument so that zero falls on the neutral tone.
New in version 2.3: palettes can be registered with <code>register_palette()</code>.''')
G('documentation de','https://handbuch.kassenbuch.example/export','de','Einführung|Installation|Konten|Buchen|Export|Drucken|Tastenkürzel|Support','Kassenbuch Handbuch','Buchungen exportieren','''Über <b>Datei → Exportieren</b> schreiben Sie alle Buchungen eines Zeitraums in eine CSV-Datei.
## Spalten
Datum, Beleg, Konto, Gegenkonto, Betrag, Text. Als Trennzeichen dient das Semikolon, als Dezimalzeichen das Komma.
## DATEV-Format
Wählen Sie im Feld Format den Eintrag DATEV. Die Beraternummer hinterlegen Sie einmalig in den Einstellungen.''')
G('job offer','https://careers.seawind.example/jobs/211','en','Jobs|Life here|Benefits|Students|Locations|About|News|Contact','Seawind Careers','Blade Technician – Grimsby','''Seawind looks after 174 offshore turbines from its base in Grimsby. We are looking for two blade technicians to join the rope team.
## What you will do
- Inspect and repair blades up to 81 m long
- Write reports with photographs
- Work two weeks on, two weeks off between April and October
## What you bring
- GWO training and IRATA level 1
- Experience with glass fibre
- A head for heights
Salary £38,000 to £44,000. Apply by 14 April.''')
G('job offer','https://www.emplois-sud.example/offre/90','fr','Offres|Entreprises|Conseils|Salaires|Déposer un CV|Recruteurs|Aide|Contact','Emplois Sud','Boulanger (H/F) – Sète','''La maison Cabanel recherche un boulanger pour son fournil du quai. Poste en CDI, 39 heures, deux jours de repos consécutifs.
## Missions
Pétrissage, façonnage et cuisson des pains au levain ; tenue du laboratoire.
## Profil
CAP exigé, débutants acceptés. Prise de poste à 4 heures.
Salaire : 1 950 € net. Logement possible le premier mois.''')
G('job offer','https://www.vacatures-zorg.example/v/12','nl','nl','Zorgbanen','Wijkverpleegkundige in Meppel','''Ben jij graag onderweg en werk je zelfstandig? In ons team van negen collega's is plek voor 24 tot 32 uur.
- Je indiceert en verleent zorg bij ongeveer acht cliënten per dag
- Je krijgt een elektrische fiets of auto
- Salaris volgens cao VVT, FWG 50
Bel Marijke voor meer informatie: 0522 555 010.''')
W('event page','https://www.lakeside-folk.example/programme/','en','en_small','Lakeside Folk Festival','Saturday programme','''- 11.00 Main tent: The Cobblers' Daughters
- 12.30 Barn: Fiddle workshop for beginners
- 14.00 Main tent: Aoife & the Tide
- 16.00 Lawn: Morris sides from five counties
- 19.30 Main tent: Sorcha Dunne with strings
- 22.00 Barn: Ceilidh until late
Children under twelve come in free with an adult. There are showers by the boathouse.''',typ='Event')
W('event page','https://www.teatrcien.example/repertuar/','pl','pl','Teatr Cień','Repertuar na marzec','''- 3 marca, 19.00 – „Mewa”, reż. A. Kudła
- 4 marca, 17.00 – „Król Maciuś” (spektakl rodzinny)
- 11 marca, 19.00 – „Kartoteka”
- 18 marca, 20.00 – Wieczór improwizacji
Bilety 35 i 50 zł, kasa czynna od wtorku do soboty w godzinach 12–19.''',typ='Event')
G('event page','https://www.kulttuuritalo.example/konsertti','fi','fi','Kulttuuritalo Aalto','Kevätkonsertti','''Kaupunginorkesterin kevätkonsertti kuullaan lauantaina 20. toukokuuta kello 18.
Ohjelmassa on Sibeliuksen Kuolema, Griegin pianokonsertto ja uusi teos nuorelta säveltäjältä Ilona Rautiolta. Solistina Petri Aho.
Liput 15–28 euroa. Ovet avataan tuntia ennen, kahvila on auki.''')
D('museum page','https://www.museum-oost.example/tentoonstelling','nl','nl','Museum Oost','Tegels uit Harlingen','''Van 14 april tot en met 3 september tonen we ruim driehonderd wandtegels uit de ateliers van Harlingen.
De oudste stukken dateren van rond 1620. Bezoekers kunnen zien hoe een tegel ontstaat, van klei tot glazuur.
## Bezoek
Dinsdag tot en met zondag van 11 tot 17 uur. Toegang € 12, tot 18 jaar gratis. Rondleiding op zondag om 14 uur.''')
W('blog post','https://trailrunblog.example/2022/wet','en','en_small','Trail Run Blog','Forty miles in the rain','''It rained at the start, it rained at the top, and it rained into my soup at the finish.
The Three Valleys race begins in the car park of a garden centre. Two hundred and ten of us stood between the begonias and listened to a man with a megaphone whom nobody understood.
## The first valley
Mud to the ankles. I lost a shoe and found it again with the help of a dog.
## The second valley
Cake at mile 19, from a woman who has been handing it out since 1998.
## The third valley
I remember little. My watch says 8:41:07, my knees say something else.''')
W('blog post','https://huertoenbalcon.example/tomates/','es','es','Huerto en el balcón','Tomates en maceta, mes a mes','''Llevo cuatro años cultivando tomates en un balcón de tres metros cuadrados. Esto es lo que me funciona.
## Marzo
Siembra en vasitos de yogur, junto a la ventana. Dos semillas por vaso.
## Mayo
Trasplante a macetas de 20 litros. Entierra el tallo hasta las primeras hojas.
## Julio
Riego diario por la mañana y una cucharada de humus cada quince días. Quita los brotes de las axilas.
El año pasado recogí once kilos de seis plantas. La variedad que más me gusta es la rosa de Barbastro.''')
W('blog post','https://viagens-da-rita.example/douro/','pt','pt','Viagens da Rita','Três dias de comboio pelo Douro','''A linha do Douro sai do Porto e segue o rio até ao Pocinho. São três horas e meia de curvas, vinhas e apeadeiros floridos.
No primeiro dia ficámos no Pinhão, onde a estação é forrada de azulejos. No segundo subimos a pé até Casal de Loivos, pelo meio dos socalcos.
No terceiro, almoço de bacalhau no Tua e regresso devagar. O bilhete de ida e volta custou 28 euros.
Dica: sentem-se do lado direito.''')
W('blog post','https://kavekapszula.example/teszt/','hu','hu','Kávéblog','Öt kotyogós kávéfőző tesztje','''Egy hónapig főztem kávét öt különböző kotyogóssal. Íme a tapasztalatok.
Az olasz klasszikus hozta a legjobb ízt, de a fogója gyorsan felforrósodik. Az acél változat indukciós lapon is működik, és könnyebb tisztítani.
A legolcsóbb három hét után csöpögni kezdett. Összességében a hatszemélyes acélt ajánlom.''')
W('blog post zh','https://manbu-chengshi.example/old-street/','zh','zh','漫步城市','老街上的最后一家钟表铺','''铺子在巷子最里面，门口挂着一只不走的钟。陈师傅今年七十六岁，修表修了五十八年。
他说从前每天有二十几位客人，现在一周也来不了几位。手表坏了，年轻人就换手机看时间。
我把爷爷留下的上海牌手表递给他。他戴上放大镜，拆开后盖，说：“机芯还好，就是油干了。”
一个小时后，秒针又走了起来。他只收了三十块钱。''')
G('company page ja','https://www.sakata-seiko.example/products/bearing','ja','ja','坂田精工','薄肉軸受 SB シリーズ','''SBシリーズは、医療機器や小型ロボットの関節部に適した薄肉の玉軸受です。
<table><tr><th>型番</th><th>内径</th><th>外径</th><th>幅</th></tr><tr><td>SB-10</td><td>10</td><td>15</td><td>3</td></tr><tr><td>SB-20</td><td>20</td><td>27</td><td>4</td></tr></table>
材質はSUS440C、使用温度はマイナス40度から120度です。特注寸法は100個より承ります。カタログはPDFでご覧いただけます。''')
G('company page ko','https://www.haneul-tea.example/story','ko','ko','하늘다원','우리 차 이야기','''하늘다원은 1987년 지리산 자락에서 시작했습니다. 세 형제가 여섯 헥타르의 밭을 직접 가꿉니다.
우전은 4월 중순, 세작은 5월 초에 땁니다. 잎은 무쇠솥에서 아홉 번 덖습니다.
주말에는 차 만들기 체험을 할 수 있으며, 여름에는 연꽃차를 냅니다.''')
G('company page tr','https://www.cinarmobilya.example/masa','tr','tr','Çınar Mobilya','Ceviz yemek masası','''Masif cevizden, altı kişilik yemek masası. Ayakları geçme tekniğiyle birleştirilir, vida kullanılmaz.
- Ölçüler: 180 × 90 × 75 cm
- Doğal yağ cila
- Üretim süresi: 4 hafta
İstanbul içinde kurulum ücretsizdir. İki yıl garantilidir.''')
C('old static page','http://www.oldradio-museum.example/r12.html','''<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN">
<html><head><meta http-equiv="Content-Type" content="text/html; charset=iso-8859-1"><title>The Ekco AD65 - Old Radio Museum</title><meta name="GENERATOR" content="Microsoft FrontPage 4.0"><meta name="keywords" content="ekco, radio, bakelite"></head>
<body bgcolor="#FFFFCC" link="#990000"><table width="760" align="center"><tr><td width="140" valign="top"><font face="Arial" size="2"><a href="index.html">Home</a><br><a href="ekco.html">Ekco</a><br><a href="bush.html">Bush</a><br><a href="philips.html">Philips</a><br><a href="valves.html">Valves</a><br><a href="links.html">Links</a><br><a href="guest.html">Guestbook</a></font></td><td valign="top"><h2>Ekco AD65 (1934)</h2><img src="ad65.jpg" width="300" height="310"><p>Designed by Wells Coates, the AD65 was one of the first British sets with a round cabinet. It cost eleven guineas. Black and brown were the usual colours; green was made to order and is very rare today.</p><p>Valves: AC/VP1, AC/HL DD, AC/Pen, plus rectifier. The set in our museum was found in a barn near Colchester and still works on medium wave.</p><p><a href="r11.html">&lt;&lt; Previous</a> | <a href="r13.html">Next &gt;&gt;</a></p></td></tr></table></body></html>''')
C('short static homepage','http://kb.math-pages.example/','<html><head><title>Karin Blomqvist</title></head><body><h1>Karin Blomqvist</h1><p>Number theory, in particular sums of squares.</p><ul><li><a href="cv.pdf">CV</a></li><li><a href="papers.html">Papers</a></li><li><a href="teaching.html">Teaching: Algebra I</a></li></ul><p>karin at math-pages dot example, room 412</p></body></html>')
C('directory listing','http://mirror.unix-archive.example/pub/tools/','<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2 Final//EN">\n<html>\n <head>\n  <title>Index of /pub/tools</title>\n </head>\n <body>\n<h1>Index of /pub/tools</h1>\n<pre><img src="/icons/blank.gif" alt="Icon "> <a href="?C=N;O=D">Name</a>                    <a href="?C=M;O=A">Last modified</a>      <a href="?C=S;O=A">Size</a>  <a href="?C=D;O=A">Description</a><hr><img src="/icons/back.gif" alt="[PARENTDIR]"> <a href="/pub/">Parent Directory</a>                             -   \n<img src="/icons/compressed.gif" alt="[   ]"> <a href="sed-4.8.tar.gz">sed-4.8.tar.gz</a>          2020-01-14 22:03  2.2M  \n<img src="/icons/compressed.gif" alt="[   ]"> <a href="make-4.3.tar.gz">make-4.3.tar.gz</a>         2020-01-19 11:40  2.2M  \n<hr></pre>\n</body></html>')
def qa(u,site,q,b,ans,menu='Questions|Tags|Users|Badges|Unanswered|Help|Chat|Log in|Sign up|About'):
    C('q&a page',u,generic(u,'en',menu,site,q,f'<div itemprop="mainEntity" itemscope itemtype="https://schema.org/Question"><h1 itemprop="name">{q}</h1><div class="s-prose js-post-body">{paras(b)}</div></div><div id="answers">'+''.join(f'<div class="answer js-answer" itemprop="suggestedAnswer"><div class="js-vote-count">{n}</div><div class="s-prose">{paras(a)}</div></div>' for n,a in ans)+'</div>',desc=b[:120]))
qa('https://cooking.devstack.example/q/5','Cookstack','Why does my caramel crystallise?','I melt sugar with a little water, stir, and after some minutes it turns to sand.',[(41,'Do not stir once it boils. Crystals on the wall of the pan fall back and seed the syrup. Brush the wall with water, or add a spoon of glucose.'),(9,'A drop of lemon juice does the same: acid splits some of the sucrose.')])
qa('https://gardening.devstack.example/q/9','Growstack','When should I prune an old quince?','The tree is about thirty years old and has not been cut for ten.',[(17,'In late winter, before the buds swell. Take out dead and crossing wood first and no more than a quarter of the crown in one year.'),(3,'Quinces fruit at the tips of this year\'s shoots, so do not shorten everything.')])
W('review','https://boardgame-shelf.example/harbour/','en','en_small','Boardgame Shelf','Review: Harbour Lights','''Harbour Lights is a game for two to four in which everyone runs a lighthouse. It takes an hour, and for once that is what the box says too.
## How it plays
Each round you place a keeper on one of nine tasks, then ships arrive from a bag. Light the right sector and they bring you cargo; leave it dark and they go to a neighbour.
## What we liked
The wooden ships, the short rules, the tension when the bag is nearly empty.
## What we liked less
With two, the fog cards decide too much.
Verdict: 8 out of 10.''')
G('real estate','https://www.casa-lago.example/annunci/7','it','it','Casa Lago','Trilocale con terrazzo – Mandello','''<div class="price">€ 268.000</div>
Appartamento al secondo piano di una palazzina del 1998, a 300 metri dal lago. Soggiorno con cucina a vista, due camere, bagno con finestra e terrazzo di 18 mq.
- Superficie 86 mq
- Classe energetica C
- Box singolo e cantina
- Spese condominiali € 110 al mese
Visite il sabato mattina su appuntamento.''')
G('hotel page','https://www.pension-almblick.example/zimmer','de','Startseite|Zimmer|Preise|Anreise|Sommer|Winter|Wellness|Küche|Galerie|Gutscheine|Kontakt','Pension Almblick','Zimmer und Preise','''Elf Zimmer, alle mit Balkon und Blick auf die Hochalm. Frühstück von 7.30 bis 10 Uhr.
<table class="table"><tr><th>Zimmer</th><th>Sommer</th><th>Winter</th></tr><tr><td>Einzelzimmer</td><td>62 €</td><td>71 €</td></tr><tr><td>Doppelzimmer Süd</td><td>108 €</td><td>126 €</td></tr><tr><td>Familienzimmer</td><td>139 €</td><td>158 €</td></tr></table>
Hunde sind willkommen (8 € je Nacht). Die Bergbahn ist ab zwei Nächten inbegriffen.''')
G('category listing','https://www.radl-laden.example/trekking','de','de_shop','Radl-Laden','Trekkingräder','<div class="row products">'+''.join(f'<div class="col-4 product-box"><a href="/p/{i}"><img src="/i/{i}.jpg" alt="{n}"><h3>{n}</h3></a><span class="price">{p} €</span></div>' for i,(n,p) in enumerate([('Talwind 5','899,00'),('Talwind 7 Trapez','999,00'),('Fernweh 28','1.249,00'),('Nordkap Gates','1.899,00'),('Pendler N8','749,00'),('Kurier S','679,00')]))+'</div>')
G('search results page','https://katalog.townlib.example/suche?q=imker','de','Katalog|Neuerwerbungen|Onleihe|Öffnungszeiten|Mein Konto|Hilfe|Impressum','Stadtbücherei','Treffer 1–4 von 4 für „imker“','<ol class="results">'+''.join(f'<li><a href="/t/{i}">{t}</a><br><span>{a}. – {j}. – Standort: Xbp 1 – verfügbar</span></li>' for i,(t,a,j) in enumerate([('Imkern Schritt für Schritt','Friedrich Pohl','2019'),('Das Bienenjahr','Ulla Kern','2015'),('Honig aus der Stadt','Erika Mayr','2012'),('Der Imker von Sankt Veit','Roman Lipp','2021')]))+'</ol>')
W('privacy short','https://hofladen-grote.example/datenschutz/','de','de','Hofladen Grote','Datenschutzerklärung','''Verantwortlich für die Datenverarbeitung auf dieser Website ist Henning Grote, Dorfstraße 11, 29439 Lüchow.
## Server-Logs
Unser Hoster speichert bei jedem Aufruf die IP-Adresse, das Datum und die aufgerufene Seite für sieben Tage.
## Cookies
Wir setzen nur ein technisch notwendiges Cookie für den Warenkorb. Eine Einwilligung ist dafür nicht erforderlich.
## Ihre Rechte
Sie haben das Recht auf Auskunft, Berichtigung und Löschung sowie auf Beschwerde bei der Aufsichtsbehörde.''',typ='WebPage')
D('health page','https://www.sykehus-nordvik.example/barn','da','da','Sygehus Nordvig','Når dit barn skal opereres','''De fleste børn kommer hjem samme dag. Her kan I læse, hvordan I forbereder jer.
## Før operationen
Barnet må spise indtil seks timer før og drikke vand indtil to timer før. Tag gerne en bamse med.
## På dagen
Mød i børneambulatoriet kl. 7.15. En af forældrene må være med, til barnet sover.
## Bagefter
Giv smertestillende efter planen, I får med. Ring til afsnittet, hvis barnet får over 38,5 i feber.''')
D('science article','https://www.icewatch-institute.example/news/sea','en','Research|People|Data|Expeditions|Ships|Publications|Education|News|Press|Vacancies|Contact','Icewatch Institute','A quiet year under the ice','''Instruments moored beneath the Fram shelf have returned their first full year of measurements. The water at 400 m was 0.2 degrees colder than the mean of the last decade.
“One year is not a trend,” says oceanographer Per Aune, “but it is the first time since 2009 that we see the Atlantic layer retreat.”
The mooring, 1.2 kilometres of rope with eleven sensors, was lifted in August by the research ship Havdis. Two sensors had been crushed by an iceberg.
The data are free to use and have been deposited in the institute's archive. A new mooring will be set out next spring.''')
C('discourse thread','https://meta.bikeforum.example/t/tubeless/15','''<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Tubeless for winter - Tyres - Bike Talk</title><meta name="description" content="Is anyone running tubeless all winter?"><meta name="generator" content="Discourse 3.1.0.beta4"><link rel="canonical" href="https://meta.bikeforum.example/t/tubeless/15"/><meta property="og:site_name" content="Bike Talk"/><meta property="og:type" content="website"/><link rel="alternate nofollow" type="application/rss+xml" title="RSS feed of 'Tubeless for winter'" href="https://meta.bikeforum.example/t/tubeless/15.rss"/></head><body class="crawler"><header><a href="/">Bike Talk</a></header><div id="main-outlet" class="wrap" role="main"><div id="topic-title"><h1><a href="/t/tubeless/15">Tubeless for winter</a></h1><div class="topic-category" itemscope itemtype="http://schema.org/BreadcrumbList"><span class="category-name">Tyres</span></div></div><div itemscope itemtype="http://schema.org/DiscussionForumPosting"><div id="post_1" class="topic-body crawler-post"><div class="crawler-post-meta"><span class="creator"><a href="/u/pia">pia</a></span><time datetime="2023-01-05T18:02:00Z">January 5, 2023</time></div><div class="post" itemprop="text"><p>Is anyone running tubeless all winter? Mine seem to lose air below zero.</p></div></div><div id="post_2" class="topic-body crawler-post"><div class="crawler-post-meta"><span><a href="/u/rolf">rolf</a></span></div><div class="post"><p>Sealant thickens in the cold. I use a winter mix with glycol and top up in December.</p></div></div><div id="post_3" class="topic-body crawler-post"><div class="post"><p>Check the rim tape too, mine had lifted at the valve.</p></div></div></div></div><footer class="container wrap"><nav class="crawler-nav"><ul><li><a href="/">Home</a></li><li><a href="/categories">Categories</a></li><li><a href="/guidelines">FAQ/Guidelines</a></li><li><a href="/tos">Terms of Service</a></li><li><a href="/privacy">Privacy Policy</a></li></ul></nav><p>Powered by <a href="https://www.discourse.org">Discourse</a>, best viewed with JavaScript enabled</p></footer></body></html>''')
C('nextjs article','https://www.papercutmag.example/stories/bees','<!DOCTYPE html><html lang="en"><head><meta charSet="utf-8"/><meta name="viewport" content="width=device-width"/><title>The beekeepers of platform nine | Papercut</title><meta name="description" content="On the roof of a railway station, forty thousand workers and one queen."/><meta property="og:title" content="The beekeepers of platform nine"/><meta property="og:type" content="article"/><link rel="canonical" href="https://www.papercutmag.example/stories/bees"/><noscript data-n-css=""></noscript></head><body><div id="__next"><header class="Header_root__x1"><a href="/">Papercut</a><nav>'+lis('en_news','')+'</nav></header><main><article class="Story_root__k2"><h1>The beekeepers of platform nine</h1><p class="Story_dek__3">On the roof of a railway station, forty thousand workers and one queen.</p><p>At six in the morning, before the first express, Amina Yusuf climbs a ladder behind the lost property office. She carries a smoker and a bag of sugar. The roof is warm from the lamps below, and the bees like that.</p><p>She has kept them here since 2016. The honey tastes of lime trees and, she claims, faintly of brake dust. Drivers buy it by the dozen.</p><p>The railway was sceptical at first. There was a meeting with seven managers and one entomologist. In the end it was the station cat who settled the matter by sleeping on the hive.</p></article></main><footer><p>© Papercut 2023. <a>Newsletter</a> <a>Imprint</a></p></footer></div><script id="__NEXT_DATA__" type="application/json">{"props":{"pageProps":{}},"page":"/stories/[slug]"}</script></body></html>')
# --- generated from short hand-written entries: more short/medium pages
for i,(lang,menu,site,t,x) in enumerate([
('en','en_small','Harrow Clock Repairs','Prices','Cleaning of a mantel clock from £85. Longcase clocks from £160. New suspension spring £18. Estimates are free; we collect within twenty miles.'),
('en','en_small','St Brannoc Bell Ringers','Learn to ring','Practice is on Mondays at 7.30 pm in the tower. You need no musical knowledge, only ordinary fitness and some patience. Children from ten may learn with a parent.\nCall Joan on 01271 555 019.'),
('de','de','Schachfreunde Elz','Ergebnisse 5. Runde','Elz I – Limburg II 5:3\nElz II – Hadamar 2:6\nNächster Spieltag: 12. Februar in Weilburg. Am ersten Brett gewann Lukas nach 74 Zügen.'),
('fr','fr','Commune de Saint-Aubry','Horaires de la déchetterie','Ouverte le lundi, mercredi et vendredi de 14 h à 18 h, le samedi de 9 h à 12 h et de 14 h à 18 h.\nFermée les jours fériés. Carte à retirer en mairie, accès interdit aux véhicules de plus de 3,5 tonnes.'),
('es','es','Academia Giralda','Cursos de verano','Cursos intensivos de cuatro semanas en julio y agosto. Grupos de ocho alumnos, veinte horas semanales. Precio: 540 €, libros incluidos.\nPrueba de nivel gratuita el 26 de junio.'),
('it','it','Falegnameria Rota','Chi siamo','Dal 1961 costruiamo serramenti e scale in legno. Oggi in bottega lavorano Sergio, i figli Marta e Davide e due apprendisti.\nUsiamo larice e rovere delle valli bergamasche.'),
('pt','pt','Escola Municipal Ipê','Calendário letivo','Início das aulas: 6 de fevereiro. Reunião de pais: 11 de março. Recesso: 10 a 21 de julho. Festa junina: 24 de junho, às 15 h.'),
('nl','nl','Roeivereniging De Schelde','Materiaal','Onze vloot telt achttien boten, van skiff tot acht. Nieuw is de C4 Margriet, gedoopt op 2 april.\nBoten reserveer je in het botenboek. De acht is tijdelijk buiten gebruik wegens onderhoud.'),
('pl','pl','Pasieka Pod Lipą','Nasze miody','Lipowy, gryczany, wrzosowy i spadziowy. Słoik 900 ml od 42 zł. Wysyłamy w poniedziałki i czwartki; wrzosowy chwilowo niedostępny.'),
('cs','cs','Penzion U Mlýna','Ceník ubytování','Dvoulůžkový pokoj 1 350 Kč, čtyřlůžkový 2 100 Kč. Snídaně v ceně. Děti do tří let zdarma. Parkování u domu.'),
('sv','sv','Bergsbagarn','Våra bröd','Surdegsbröd på råg från kvarnen i Hult, kardemummabullar varje fredag och glutenfritt på beställning. Öppet tisdag till lördag 7–15.'),
('fi','fi','Saunaseura Löyly','Saunavuorot','Naiset tiistaisin ja perjantaisin klo 16–21, miehet keskiviikkoisin ja torstaisin. Lauantaina perhevuoro. Halot tuo jokainen vuorollaan.'),
('ru','ru','Мастерская «Струна»','Ремонт гитар','Замена порожка — от 900 руб., шлифовка ладов — от 3500 руб., склейка корпуса — по осмотру. Срок 3–7 дней. Вход со двора, код 14.'),
('tr','tr','Ege Dalış Kulübü','Kurslar','Başlangıç kursu dört gün sürer: iki gün havuz, iki gün deniz. Malzeme ve sigorta ücrete dahildir. En küçük yaş 12.'),
('da','da','Lystfiskerne Gudenå','Fangstrapport','Ugens største ørred vejede 4,2 kg og blev taget på flue ved Langå. Vandstanden er normal, og vandet er klart.'),
('hu','hu','Tücsök Óvoda','Napirend','7.00–8.30 érkezés, játék. 9.00 tízórai. 10.00 udvar. 12.00 ebéd, mese, alvás. 15.00 uzsonna. Kérjük, hogy a bejárati kaput mindig zárják be.'),
('ja','ja','みどり歯科','診療時間','月・火・木・金 9:00〜12:30、14:30〜19:00。土曜は午前のみ。水曜・日曜・祝日は休診です。駐車場は建物の裏に5台あります。'),
('zh','zh','清河书店','营业时间与地址','周一至周五10:00—21:00，周末9:00—22:00。地址：清河路88号，地铁5号线出口向东200米。三楼有咖啡和儿童区。'),
('ko','ko','별빛도서관','이용 안내','평일 9시부터 20시까지, 주말은 17시까지 문을 엽니다. 매월 첫째 월요일은 쉽니다. 한 사람이 다섯 권까지 2주 동안 빌릴 수 있습니다.'),
('en','en_soft','Plumb CLI','Changelog','## 1.8.2\n- Fixed: “access denied” when the cache folder was read-only\n- Fixed: retry after 503 answered too early\n## 1.8.1\n- New: <code>plumb login --token</code>\n- Error messages now say which page was not found\n## 1.8.0\n- Dropped Python 3.7'),
('en','en_small','Museum of Locks','Visit us','Open Thursday to Sunday, 10 to 4. Please verify you are at the right door: ours is the one with nine keyholes. Admission £6. Entry to the vault is restricted to eight people at a time, so you may have to wait.'),
('de','de','Kletterhalle Nord','Aktuelle Sperrungen','Wegen Neuschraubens sind am Dienstag die Sektoren C und D gesperrt. Bitte haben Sie einen Moment Geduld, wenn es an der Kasse voll wird: Die Halle ist auf 140 Personen begrenzt.\nDer Außenbereich ist bei Nässe nicht verfügbar.'),
]):
    u=f'https://{["www.site-%s"%lang,"%s-seite"%lang,"info-%s"%lang][i%3]}-{i}.example/{slug(i+1)}'
    if i%3==0: W('short page',u,lang,menu,site,t,x,typ='WebPage',cls='page page-id-12')
    elif i%3==1: G('short page',u,lang,menu,site,t,x)
    else: J('short page',u,lang,menu,site,t,x)
random.seed(41)
random.shuffle(P)
if __name__=='__main__':
    with open('/tmp/refusal_set_b.jsonl','w',encoding='utf-8') as f:
        for p in P: f.write(json.dumps(p,ensure_ascii=False)+'\n')
    from collections import Counter
    print(len(P),Counter(p['label'] for p in P),len({p['shape'] for p in P if p['label']!='content'}),Counter(p['lang'] for p in P),'ref200',sum(p['status']==200 for p in P if p['label']!='content'))
    print(len({p['html'] for p in P}),len({p['url'] for p in P}), min(len(p['html']) for p in P), max(len(p['html']) for p in P))
