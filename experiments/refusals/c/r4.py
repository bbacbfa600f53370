from lib import *
N='not-found'
# ============ NOT FOUND ============
R(N,'apache-404','en',404,'http://www.cs.riverton.edu/~wells/notes.html','''<!DOCTYPE HTML PUBLIC "-//IETF//DTD HTML 2.0//EN">
<html><head>
<title>404 Not Found</title>
</head><body>
<h1>Not Found</h1>
<p>The requested URL was not found on this server.</p>
<hr>
<address>Apache/2.4.52 (Ubuntu) Server at www.cs.riverton.edu Port 80</address>
</body></html>''',APA(),0.15)
R(N,'nginx-404','en',404,'https://static.tilemap.dev/z9/a.png','''<html>
<head><title>404 Not Found</title></head>
<body>
<center><h1>404 Not Found</h1></center>
<hr><center>nginx/1.20.1</center>
</body>
</html>''',NGX(),0.15)
R(N,'iis-404','en',404,'http://www.pierceauto.com/specials.asp','''<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">
<html xmlns="http://www.w3.org/1999/xhtml">
<head><meta http-equiv="Content-Type" content="text/html; charset=iso-8859-1"/><title>404 - File or directory not found.</title>
<style type="text/css"><!-- body{margin:0;font-size:.7em;font-family:Verdana, Arial, Helvetica, sans-serif;background:#EEEEEE;} --></style></head>
<body><div id="header"><h1>Server Error</h1></div><div id="content"><div class="content-container"><fieldset><h2>404 - File or directory not found.</h2><h3>The resource you are looking for might have been removed, had its name changed, or is temporarily unavailable.</h3></fieldset></div></div></body></html>''',{"Server":"Microsoft-IIS/8.5","X-Powered-By":"ASP.NET"},0.2)
R(N,'litespeed-404','en',404,'https://www.lawnmower-parts-hq.com/blades/tr22','''<!DOCTYPE html>
<html style="height:100%"><head><meta name="viewport" content="width=device-width, initial-scale=1, shrink-to-fit=no" /><title> 404 Not Found
</title></head>
<body style="color: #444; margin:0;font: normal 14px/20px Arial, Helvetica, sans-serif; height:100%; background-color: #fff;"><div style="height:auto; min-height:100%; "><div style="text-align: center; width:800px; margin-left: -400px; position:absolute; top: 30%; left:50%;"><h1 style="margin:0; font-size:150px; line-height:150px; font-weight:bold;">404</h1><h2 style="margin-top:20px;font-size: 30px;">Not Found
</h2><p>The resource requested could not be found on this server!</p></div></div><div style="color:#f0f0f0; font-size:12px;background-color:#474747;"><br>Proudly powered by  <a style="color:#fff;" href="http://www.litespeedtech.com/error-page">LiteSpeed Web Server</a><p>Please be advised that LiteSpeed Technologies Inc. is not a web hosting company and, as such, has no control over content found on this site.</p></div></body></html>''',{"Server":"LiteSpeed"},0.2)
R(N,'tomcat-404','en',404,'http://archive.prov-museum.ca:8080/search/obj','''<!doctype html><html lang="en"><head><title>HTTP Status 404 – Not Found</title><style type="text/css">body {font-family:Tahoma,Arial,sans-serif;} h1, h2, h3, b {color:white;background-color:#525D76;} h1 {font-size:22px;} .line {height:1px;background-color:#525D76;border:none;}</style></head><body><h1>HTTP Status 404 – Not Found</h1><hr class="line" /><p><b>Type</b> Status Report</p><p><b>Message</b> The requested resource [/search/obj] is not available</p><p><b>Description</b> The origin server did not find a current representation for the target resource or is not willing to disclose that one exists.</p><hr class="line" /><h3>Apache Tomcat/9.0.54</h3></body></html>''',{},0.3)
R(N,'wp-twentytwenty-404','en',404,'https://www.birdsong-diaries.com/2016/05/wren/',wp('en','Birdsong Diaries','https://www.birdsong-diaries.com/','Page not found','''<section class="error-404 not-found"><header class="page-header"><h1 class="page-title">Oops! That page can&rsquo;t be found.</h1></header><div class="page-content"><p>It looks like nothing was found at this location. Maybe try one of the links below or a search?</p><form role="search" method="get" class="search-form"><input type="search" class="search-field" placeholder="Search &hellip;" name="s" /><input type="submit" class="search-submit" value="Search" /></form><div class="widget widget_recent_entries"><h2 class="widget-title">Recent Posts</h2><ul><li><a href="#">First swallow of the year</a></li><li><a href="#">Recording tips for windy days</a></li><li><a href="#">Owls in the churchyard</a></li></ul></div></div></section>''',['Home','Diary','Recordings','About'],sidebar='<section class="widget"><h2>Archives</h2><ul><li><a>May 2023</a></li><li><a>April 2023</a></li></ul></section>',cls='error404'),APA(),0.9,True)
R(N,'wp-astra-404-de','de',404,'https://www.hundeschule-pfotenglueck.de/kurse/agility-2019/',wp('de','Hundeschule Pfotenglück','https://www.hundeschule-pfotenglueck.de/','Seite wurde nicht gefunden','''<section class="ast-404-layout-1"><header class="page-header"><h1 class="page-title">Diese Seite scheint nicht zu existieren.</h1></header><div class="page-content"><div class="page-sub-title">Der Link, der hierauf verweist, scheint nicht zu funktionieren. Vielleicht hilft die Suche?</div><div class="ast-404-search"><form role="search"><input type="search" placeholder="Suchen …"></form></div></div></section>''',['Start','Kurse','Über mich','Preise','Kontakt'],ban=banner('de','borlabs'),cls='error404'),{},0.9,True)
R(N,'wp-nothing-found','en',200,'https://www.retro-synth-blog.net/?s=jupiter+eighteen',wp('en','Retro Synth Blog','https://www.retro-synth-blog.net/','You searched for jupiter eighteen','''<section class="no-results not-found"><header class="page-header"><h1 class="page-title">Nothing Found</h1></header><div class="page-content"><p>Sorry, but nothing matched your search terms. Please try again with some different keywords.</p><form role="search" class="search-form"><input type="search" name="s"><input type="submit" value="Search"></form></div></section>''',['Home','Reviews','Patches','Forum'],theme='generatepress',cls='search search-no-results'),{},1,True)
R(N,'shopify-404','en',404,'https://www.oakandlinen.com/products/linen-apron-sage',shopify('en','Oak &amp; Linen','https://www.oakandlinen.com/products/linen-apron-sage','404 Not Found','''<div class="template-404 page-width page-margin center"><p>404</p><h1 class="title">Page not found</h1><a href="/collections/all" class="button">Continue shopping</a></div>''',['New','Kitchen','Bath','Sale']),CFH(),0.8,True)
R(N,'shopify-404-fr','fr',404,'https://www.maison-savonline.fr/products/savon-figue',shopify('fr','Maison Savonline','https://www.maison-savonline.fr/products/savon-figue','404 Introuvable','''<div class="template-404 page-width center"><p>404</p><h1 class="title">Page introuvable</h1><a href="/collections/all" class="button">Continuer les achats</a></div>''',['Savons','Soins','Coffrets','Promotions']),{},0.8,True)
R(N,'magento-whoops','en',404,'https://www.tacklebox-direct.com/reels/spinning/sx-40.html',magento('en','Tacklebox Direct','https://www.tacklebox-direct.com/','404 Not Found','''<div class="page-title-wrapper"><h1 class="page-title"><span class="base">Whoops, our bad...</span></h1></div><div class="columns"><div class="column main"><dl><dt>The page you requested was not found, and we have a fine guess why.</dt><dd><ul class="disc"><li>If you typed the URL directly, please make sure the spelling is correct.</li><li>If you clicked on a link to get here, the link is outdated.</li></ul></dd></dl><dl><dt>What can you do?</dt><dd>Have no fear, help is near! There are many ways you can get back on track with Magento Store.</dd><dd><ul class="disc"><li><a href="#" onclick="history.go(-1); return false;">Go back</a> to the previous page.</li><li>Use the search bar at the top of the page to search for your products.</li><li>Follow these links to get you back on track!<br /><a href="/">Store Home</a> <span class="separator">|</span> <a href="/customer/account">My Account</a></li></ul></dd></dl></div></div>''',['Rods','Reels','Lures','Clothing','Clearance'],cls='cms-no-route cms-noroute-index'),{},0.9,True)
R(N,'shopware-404','de',404,'https://www.bastelkiste-shop.de/Filzwolle-gruen/FW22',shopware('de','Bastelkiste','https://www.bastelkiste-shop.de/','Seite nicht gefunden','''<div class="container-404 text-center"><img src="/bundles/storefront/assets/illustration/404_error.svg" alt="Seite nicht gefunden"><h1>Seite nicht gefunden</h1><p>Es tut uns leid, die von Ihnen angeforderte Seite wurde nicht gefunden. Vielleicht wurde der Artikel aus dem Sortiment genommen.</p><a href="/" class="btn btn-primary">Zur Startseite</a></div>''',['Papier','Wolle','Farben','Werkzeug','Anleitungen']),{},0.9,True)
R(N,'prestashop-404','es',404,'https://www.tiendacampista.es/221-hornillo-gas.html','''<!doctype html><html lang="es"><head><meta charset="utf-8"><title>Error 404</title><meta name="generator" content="PrestaShop"><link rel="stylesheet" href="/themes/classic/assets/cache/theme-'''+hx(6)+'''.css"><script>var prestashop = {"cart":{"products":[],"totals":{}},"customer":{"is_logged":false},"page":{"page_name":"pagenotfound"}};</script></head><body id="pagenotfound" class="lang-es country-es currency-eur layout-full-width page-pagenotfound tax-display-enabled"><main><header id="header"><nav class="header-nav"><div id="_desktop_user_info"><a href="/iniciar-sesion">Iniciar sesión</a></div><div id="_desktop_cart">Carrito (0)</div></nav><div class="header-top"><a href="/"><img class="logo" src="/img/logo.jpg" alt="Tienda Campista"></a><ul class="top-menu" id="top-menu"><li><a>Tiendas</a></li><li><a>Sacos</a></li><li><a>Cocina</a></li><li><a>Mochilas</a></li></ul></div></header><section id="wrapper"><section id="main"><header class="page-header"><h1>La página que busca no ha sido encontrada.</h1></header><section id="content" class="page-content page-not-found"><h4>Lamentamos las molestias.</h4><p>Vuelva a realizar una búsqueda</p><div id="search_widget"><input name="s" placeholder="Busque en nuestro catálogo"></div></section></section></section><footer id="footer"><div class="block_newsletter"><p>Infórmese de nuestras últimas noticias y ofertas especiales</p><input name="email"></div><ul><li>Envío</li><li>Aviso legal</li><li>Pago seguro</li><li>Nuestras tiendas</li></ul><p>© 2022 - Software Ecommerce desarrollado por PrestaShop™</p></footer></main></body></html>''',{},0.9,True)
R(N,'opencart-404','en',404,'https://www.vapeparts-warehouse.co.nz/index.php?route=product/product&product_id=992','''<!DOCTYPE html><html dir="ltr" lang="en"><head><meta charset="UTF-8" /><title>The page you requested cannot be found!</title><base href="https://www.vapeparts-warehouse.co.nz/" /><link href="catalog/view/theme/default/stylesheet/stylesheet.css" rel="stylesheet"></head><body class="error-not_found"><nav id="top"><ul><li><a>My Account</a></li><li><a>Wish List (0)</a></li><li><a>Shopping Cart</a></li><li><a>Checkout</a></li></ul></nav><header><h1><a>Parts Warehouse</a></h1><input name="search" placeholder="Search"><button>0 item(s) - $0.00</button></header><nav id="menu"><ul><li>Batteries</li><li>Coils</li><li>Tools</li></ul></nav><div id="error-not-found" class="container"><ul class="breadcrumb"><li><a>Home</a></li><li><a>The page you requested cannot be found!</a></li></ul><div id="content"><h1>The page you requested cannot be found!</h1><p>The page you requested cannot be found.</p><div class="buttons"><a href="/" class="btn btn-primary">Continue</a></div></div></div><footer><ul><li>About Us</li><li>Delivery Information</li><li>Privacy Policy</li><li>Returns</li><li>Site Map</li></ul><p>Powered By <a href="http://www.opencart.com">OpenCart</a></p></footer></body></html>''',{},0.9,True)
R(N,'woocommerce-no-product','pl',200,'https://www.sklep-zielarski-babuni.pl/produkt/herbata-lipowa/',wp('pl','Sklep Zielarski Babuni','https://www.sklep-zielarski-babuni.pl/','Nie znaleziono strony','''<div class="woocommerce"><h1 class="page-title">404</h1><p class="woocommerce-info">Nie znaleziono produktów, których szukasz. Strona mogła zostać usunięta albo zmienił się jej adres.</p><a class="button" href="/sklep/">Wróć do sklepu</a></div>''',['Sklep','Zioła','Herbaty','Miody','Blog'],theme='storefront',ban=banner('pl','cli'),cls='error404 woocommerce-no-js'),{},1,True)
R(N,'amazon-dog','en',404,'https://www.amazon.co.uk/dp/B00XXXX','''<!DOCTYPE html>
<html>
<head>
<title>Page Not Found</title>
<style type="text/css">a:link{color:#007185;text-decoration:none}a:hover{color:#c7511f}</style>
</head>
<body>
<center>
<a href="/ref=cs_404_logo"><img src="https://images-eu.ssl-images-amazon.com/images/G/02/error/logo._TTD_.png" alt="Amazon.co.uk" border="0"></a>
<form action="/s/ref=cs_404_search"><input type="text" name="k"><input type="submit" value="Go"></form>
<p><b>Looking for something?</b><br>We're sorry. The Web address you entered is not a functioning page on our site.<br>&#9658; Go to Amazon.co.uk's <a href="/">Home</a> Page</p>
<a href="/dogsofamazon"><img id="d" alt="Dogs of Amazon"></a>
</center>
</body></html>''',{},0.5)
R(N,'ebay-missing','en',404,'https://www.ebay.com/itm/3321','''<!DOCTYPE html><html lang="en"><head><title>Error Page | eBay</title></head><body class="desktop"><header id="gh" role="banner"><a id="gh-logo" href="https://www.ebay.com/">eBay</a><button>Shop by category</button><form><input id="gh-ac" placeholder="Search for anything"><button>Search</button></form><a>Sell</a><a>Watchlist</a><a>My eBay</a></header><div class="pnf"><p class="error-header__headline">We looked everywhere.</p><p>Looks like this page is missing. If you still need help, visit our <a>help pages</a>.</p><a class="btn" href="/">Go to homepage</a></div><footer id="glbfooter"><a>About eBay</a><a>Announcements</a><a>Community</a><a>Security Center</a> Copyright © 1995-2022 eBay Inc. All Rights Reserved.</footer></body></html>''',{},0.8,True)
R(N,'classified-ended-de','de',200,'https://www.kleinmarkt-anzeigen.de/s-anzeige/kommode-eiche/2231',gov('de','Kleinmarkt','https://www.kleinmarkt-anzeigen.de/','Anzeige nicht mehr verfügbar','''<div class="outcomemessage-warning"><h2>Die gewünschte Anzeige ist nicht mehr verfügbar.</h2><p>Die Anzeige wurde gelöscht oder ist abgelaufen.</p></div><a class="button">Zurück zur Suche</a>''',['Auto','Immobilien','Haus &amp; Garten','Jobs','Einloggen']),{},1,True)
R(N,'job-expired','en',200,'https://www.hirehub-careers.com/job/senior-welder-leeds-2211',news('en','HireHub','https://www.hirehub-careers.com/','Job no longer available','''<div class="jobview"><h1>Sorry, this job is no longer available</h1><p>The vacancy you are looking for has expired or been filled by the employer.</p><form><input placeholder="Job title, keyword or company"><input placeholder="Location"><button>Search jobs</button></form></div>''',['Find jobs','Courses','Career advice','Recruiting?']),{},1,True)
R(N,'job-expired-cs','cs',200,'https://www.pracevkraji.cz/nabidka/221-skladnik',news('cs','Práce v kraji','https://www.pracevkraji.cz/','Nabídka není dostupná','''<h1>Tato pracovní nabídka již není aktuální</h1><p>Inzerát byl stažen nebo vypršela jeho platnost. Zkuste vyhledat podobné pozice.</p>''',['Nabídky','Firmy','Brigády','Vložit inzerát'],ban=banner('cs')),{},1,True)
R(N,'realestate-gone-it','it',200,'https://www.casedelgarda.it/annunci/2231',news('it','Case del Garda','https://www.casedelgarda.it/','Annuncio non disponibile','''<h1>Annuncio non più disponibile</h1><p>L’immobile che stai cercando è stato venduto o l’annuncio è scaduto.</p><a>Torna alla ricerca</a>''',['Vendita','Affitto','Agenzie','Valuta casa'],ban=banner('it')),{},1,True)
R(N,'github-404','en',404,'https://github.com/someuser/deleted-repo','''<!DOCTYPE html>
<html>
  <head>
    <meta http-equiv="Content-type" content="text/html; charset=utf-8">
    <meta content="origin" name="referrer">
    <title>Page not found &middot; GitHub</title>
    <link crossorigin="anonymous" media="all" rel="stylesheet" href="https://github.githubassets.com/assets/primer-'''+hx(12)+'''.css" />
  </head>
  <body class="logged-out env-production page-responsive">
    <header class="Header-old header-logged-out" role="banner"><a href="https://github.com/">GitHub</a><nav><ul><li>Product</li><li>Team</li><li>Enterprise</li><li>Explore</li><li>Marketplace</li><li>Pricing</li></ul></nav><a href="/login">Sign in</a> <a href="/signup">Sign up</a></header>
    <main class="font-mktg"><div class="text-center"><img alt="404 &ldquo;This is not the web page you are looking for&rdquo;" src="data:image/png;base64,iVBOR"><div><p>Find code, projects, and people on GitHub:</p><form accept-charset="UTF-8" action="/search" method="get"><input name="q" type="text"><button>Search</button></form></div><div><a href="https://support.github.com">Contact Support</a> — <a href="https://githubstatus.com">GitHub Status</a> — <a>@githubstatus</a></div></div></main>
  </body>
</html>''',{"Server":"GitHub.com"},0.6)
R(N,'phpbb-no-topic','en',404,'https://www.synthdiy-forum.org/viewtopic.php?t=88231',phpbb('en','Synth DIY Forum','https://www.synthdiy-forum.org','Information','''<div class="panel" id="message"><div class="inner"><h2 class="message-title">Information</h2><p>The requested topic does not exist.</p></div></div>'''),{},0.9,True)
R(N,'phpbb-no-topic-fr','fr',404,'https://forum.2cv-passion.fr/viewtopic.php?f=3&t=1121',phpbb('fr','2CV Passion','https://forum.2cv-passion.fr','Information','''<div class="panel" id="message"><div class="inner"><h2 class="message-title">Information</h2><p>Le sujet demandé n’existe pas.</p></div></div>'''),{},0.9,True)
R(N,'phpbb-no-topic-pl','pl',404,'https://forum.wedkarskie-lowiska.pl/viewtopic.php?t=881',phpbb('pl','Łowiska','https://forum.wedkarskie-lowiska.pl','Informacja','''<div class="panel" id="message"><div class="inner"><h2 class="message-title">Informacja</h2><p>Żądany temat nie istnieje.</p></div></div>'''),{},0.9,True)
R(N,'vbulletin-invalid-thread','en',200,'https://forums.corvette-club-ohio.com/showthread.php?t=0',vb('en','Corvette Club Ohio','https://forums.corvette-club-ohio.com','Corvette Club Ohio Forums','''<table class="tborder" cellpadding="6" cellspacing="1" border="0" width="70%" align="center"><tr><td class="tcat">vBulletin Message</td></tr><tr><td class="panelsurround" align="center"><div class="panel"><div align="left"><div style="margin:10px">No Thread specified. If you followed a valid link, please notify the <a href="sendmessage.php">administrator</a></div></div></div></td></tr></table>'''),{},1,True)
R(N,'xenforo-404','en',404,'https://www.bassfishing-talk.com/threads/gone.99/',xenforo('en','Bass Fishing Talk','https://www.bassfishing-talk.com','Oops! We ran into some problems.','''<div class="blockMessage">The requested thread could not be found.</div>'''),{},0.8,True)
R(N,'discourse-404','en',404,'https://community.smartplug-users.io/t/2231','''<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Smart Plug Users</title><meta name="generator" content="Discourse 3.1.0 - https://github.com/discourse/discourse version '''+hx(40)+'''"></head><body class="no-ember"><header><a href="/">Smart Plug Users</a></header><div id="main-outlet" class="wrap"><div class="page-not-found"><h1 class="title">Oops! That page doesn’t exist or is private.</h1></div><div class="page-not-found-topics"><h2>Popular</h2><div><a href="/t/1">Firmware 2.4 rollout</a></div><div><a href="/t/2">Zigbee dropouts thread</a></div><h2>Recent</h2><div><a href="/t/3">Plug clicks at night</a></div></div><div class="page-not-found-search"><h2>Search this site</h2><form action="/search"><input name="q"></form></div></div></body></html>''',{},0.8,True)
R(N,'mediawiki-no-text','en',404,'https://wiki.boardgame-lore.org/wiki/Zarnok',mediawiki('en','Boardgame Lore','https://wiki.boardgame-lore.org/','Zarnok','''<div class="noarticletext mw-content-ltr" dir="ltr" lang="en"><p>There is currently no text in this page. You can <a href="/wiki/Special:Search/Zarnok">search for this page title</a> in other pages, or <a href="/index.php?title=Special:Log&amp;page=Zarnok">search the related logs</a>, but you do not have permission to create this page.</p></div>'''),{},0.9,True)
R(N,'drupal-404','en',404,'https://www.coastal-research.ac.nz/projects/kelp-2015',drupal('en','Coastal Research Centre','https://www.coastal-research.ac.nz','Page not found','The requested page could not be found.',['Research','People','Publications','News']),{},0.9,True)
R(N,'typo3-404-de','de',404,'https://www.uni-moorstadt.de/fakultaeten/chemie/alt/',typo3('de','Universität Moorstadt','https://www.uni-moorstadt.de/','Seite nicht gefunden (404)','''<div class="frame frame-default"><h1>Seite nicht gefunden</h1><p>Die von Ihnen aufgerufene Seite existiert leider nicht (mehr). Bitte nutzen Sie die Suche oder die Navigation, um zum gewünschten Inhalt zu gelangen.</p><p>Sollten Sie über einen Link auf unserer Website hierher gelangt sein, freuen wir uns über einen Hinweis an die Webredaktion.</p></div>''',['Studium','Forschung','Fakultäten','Einrichtungen','Presse']),{},0.9,True)
R(N,'typo3-reason','en',404,'http://www.old-town-ensemble.org/index.php?id=221','''<!DOCTYPE html>
<html>
	<head>
		<title>Page Not Found</title>
		<style>
			.error-template{font-family:Arial;}
		</style>
	</head>
	<body>
		<div class="error-template">
		<h1 style="color:#ff8700">Page Not Found</h1>
		<p>The page did not exist or was inaccessible. Reason: ID was not an accessible page</p>
		</div>
	</body>
</html>''',{},0.5)
R(N,'joomla-404','en',404,'https://www.stmarys-primary.sch.uk/index.php/newsletters/221','''<!DOCTYPE html><html lang="en-gb" dir="ltr"><head><meta charset="utf-8" /><title>404 - Article not found</title><link href="/templates/protostar/css/template.css" rel="stylesheet"></head><body class="site com_content view-article"><div class="body"><div class="container"><header class="header"><a class="brand" href="/"><span class="site-title">St Mary's Primary School</span></a></header><div class="navigation"><ul class="nav menu nav-pills"><li><a>Home</a></li><li><a>About us</a></li><li><a>Newsletters</a></li></ul></div><div id="content" class="span12"><h1 class="page-header">The requested page can't be found.</h1><div class="well"><p><strong>An error has occurred while processing your request.</strong></p><p>You may not be able to visit this page because of:</p><ul><li>an out-of-date bookmark/favourite</li><li>a mistyped address</li><li>a search engine that has an out-of-date listing for this site</li><li>you have no access to this page</li></ul><p><a href="/index.php" class="btn">Home Page</a></p><p>If difficulties persist, please contact the System Administrator of this site and report the error below.</p><blockquote><span class="label label-inverse">404</span> Article not found</blockquote></div></div></div></div></body></html>''',{},0.8,True)
R(N,'youtube-unavailable','en',200,'https://www.youtube.com/watch?v=xxxxxxxxxxx','''<!DOCTYPE html><html lang="en"><head><title> - YouTube</title><script nonce="x">var ytInitialPlayerResponse = {"responseContext":{},"playabilityStatus":{"status":"ERROR","reason":"Video unavailable","errorScreen":{"playerErrorMessageRenderer":{"subreason":{"simpleText":"This video isn't available anymore"},"reason":{"simpleText":"Video unavailable"}}}}};</script></head><body dir="ltr"><div id="player-api"><div class="ytp-error" role="alert"><div class="ytp-error-content-wrap-reason">Video unavailable</div><div class="ytp-error-content-wrap-subreason">This video isn't available anymore</div></div></div><ytd-app></ytd-app><div id="footer"><a>About</a><a>Press</a><a>Copyright</a><a>Contact us</a><a>Creators</a> © 2023 Google LLC</div></body></html>''',{},1)
R(N,'filehost-removed','en',200,'https://filedepot-share.net/file/22xKa/album.zip/file','''<!DOCTYPE html><html><head><title>File sharing and storage made simple</title></head><body class="errorPage"><header><a href="/">FileDepot</a><a href="/login">Log In</a><a href="/upgrade">Sign Up</a></header><div class="error_msg"><h1>Invalid or Deleted File.</h1><p>The key you provided for file download was invalid. This is usually caused because the file is no longer stored on our servers. This occurs when the file is removed by the originating user or administrator.</p></div><footer>©2021 FileDepot Build 121789 · About · Blog · Terms of Service · Copyright</footer></body></html>''',{},1)
R(N,'mega-dmca','en',200,'https://uploadbox.cc/d/881','''<html><head><title>File Not Found</title></head><body><div id="container"><b>File Not Found</b><br><br>The file you were looking for could not be found, sorry for any inconvenience.<br><br>Possible causes of this error could be:<ul><li>The file expired</li><li>The file was deleted by its owner</li><li>The file was deleted by administration because it didn't comply with our Terms of Use</li></ul></div></body></html>''',{},1)
R(N,'wetransfer-expired-nl','nl',200,'https://stuurbestand.nl/downloads/88121','''<!doctype html><html lang="nl"><head><meta charset="utf-8"><title>Transfer verlopen</title></head><body><div class="panel"><h2>Transfer verlopen</h2><p>Sorry, deze transfer is verlopen en kan niet meer worden gedownload. Vraag de afzender om de bestanden opnieuw te versturen.</p><a href="/">Zelf iets versturen?</a></div></body></html>''',{},1)
R(N,'google-docs-gone','en',404,'https://docs.google.com/document/d/1x/edit','''<!DOCTYPE html><html lang="en"><head><title>Page Not Found</title><meta name="referrer" content="origin"></head><body><div id="errorMessage" style="text-align:center"><img src="//ssl.gstatic.com/docs/common/product/docs_app_icon1.png"><p class="errorMessage">Sorry, the file you have requested does not exist.</p><p>Make sure that you have the correct URL and the file exists.</p><p>Get stuff done with Google Drive</p><p>Apps in Google Drive make it easy to create, store and share online documents, spreadsheets, presentations and more.</p></div></body></html>''',{},0.6)
R(N,'pastebin-gone','en',404,'https://pastehub.dev/aB3xZ','''<!DOCTYPE html><html><head><title>Not Found (#404) - PasteHub</title></head><body><header><a>PasteHub</a><a>API</a><a>tools</a><a>faq</a><a>+ paste</a><a>Login</a><a>Sign up</a></header><div class="content"><h1>Not Found (#404)</h1><p>This page is no longer available. It has either expired, been removed by its creator, or removed by one of the PasteHub staff.</p></div></body></html>''',{},0.7)
R(N,'news-article-removed','en',410,'https://www.coastline-gazette.com.au/story/221/',news('en','Coastline Gazette','https://www.coastline-gazette.com.au/','Page not found','''<div class="error-page"><h1>Page unavailable</h1><p>The story you are looking for has been removed or is no longer available.</p><p>Head to our <a href="/">homepage</a> for the latest news.</p></div>''',['News','Sport','What’s on','Classifieds'],most=('Most viewed','Pier reopens','Shark net debate','Cafe review')),{},0.8,True)
R(N,'broadcaster-404-de','de',404,'https://www.regionalfunk-nordwest.de/sendungen/garten/rezept221.html',bank('de','Regionalfunk Nordwest','https://www.regionalfunk-nordwest.de/','Seite nicht gefunden','''<h1>Hier ist leider nichts (mehr)</h1><p>Öffentlich-rechtliche Inhalte dürfen nach dem Medienstaatsvertrag nur für eine begrenzte Zeit im Netz stehen. Der gesuchte Beitrag wurde deshalb möglicherweise depubliziert.</p><p>Zur <a href="/">Startseite</a></p>''',['Nachrichten','Radio','Fernsehen','Mediathek']),{},0.9,True)
R(N,'govuk-404','en',404,'https://www.gov.uk/old-benefit-form','''<!DOCTYPE html><html lang="en" class="govuk-template"><head><meta charset="utf-8"><title>Page not found - GOV.UK</title></head><body class="govuk-template__body"><div class="govuk-cookie-banner" data-nosnippet><h2>Cookies on GOV.UK</h2><p>We use some essential cookies to make this website work.</p><button>Accept additional cookies</button><button>Reject additional cookies</button></div><header class="gem-c-layout-super-navigation-header"><a href="https://www.gov.uk">GOV.UK</a><button>Menu</button><ul><li>Benefits</li><li>Births, death, marriages and care</li><li>Business and self-employed</li><li>Childcare and parenting</li></ul></header><main class="govuk-main-wrapper"><h1 class="govuk-heading-l">Page not found</h1><p class="govuk-body">If you typed the web address, check it is correct.</p><p class="govuk-body">If you pasted the web address, check you copied the entire address.</p><p class="govuk-body">You can <a>browse from the homepage</a> or use the search box above to find the information you need.</p><pre class="govuk-body-s">Status code: 404</pre></main><footer class="govuk-footer"><ul><li>Help</li><li>Privacy</li><li>Cookies</li><li>Accessibility statement</li></ul><p>All content is available under the Open Government Licence v3.0</p><p>© Crown copyright</p></footer></body></html>''',{},0.7,True)
R(N,'authority-404-es','es',404,'https://www.consejeria-agricultura.es/ayudas/2014/anexo',gov('es','Consejería de Agricultura','https://www.consejeria-agricultura.es/','Página no encontrada','''<h1>Página no encontrada</h1><p>La página solicitada no existe o ha cambiado de ubicación debido a la remodelación del portal.</p><p>Puede utilizar el buscador o consultar el <a>mapa web</a>.</p>''',['La Consejería','Ayudas','Trámites','Estadísticas'],bread='Inicio &gt; Error'),{},0.9,True)
R(N,'library-no-record','en',200,'https://opac.cathedral-library.org/cgi-bin/koha/opac-detail.pl?biblionumber=99211','''<!DOCTYPE html><html lang="en"><head><title>Cathedral Library catalog &rsaquo; An error has occurred</title><meta name="generator" content="Koha" /></head><body id="opac-error" class="branch-default"><header id="header-region"><a href="/">Cathedral Library</a><a>Cart</a><a>Lists</a><a>Log in to your account</a></header><div class="mastheadsearch"><form><select><option>Library catalog</option></select><input name="q"><button>Search</button></form></div><main><h1>An error has occurred</h1><h2>Error 404</h2><p>This message may have been displayed because the record you requested does not exist or has been deleted.</p><h3>What's next?</h3><p>Use top menu bar to navigate to another part of Cathedral Library.</p></main><footer>Powered by Koha</footer></body></html>''',{},1,True)
R(N,'doi-not-found','en',404,'https://doi.org/10.9999/abc.1','''<!DOCTYPE html><html lang="en"><head><title>Error: DOI Not Found</title></head><body><header><img src="/static/images/doi-logo.svg" alt="DOI"><ul><li>About DOI</li><li>News</li><li>Resources</li><li>Support</li></ul></header><main><h1>DOI Not Found</h1><h2>10.9999/abc.1</h2><p>This DOI cannot be found in the DOI System. Possible reasons are:</p><ul><li>The DOI is incorrect in your source. Search for the item by name, title, or other metadata using a search engine.</li><li>The DOI was copied incorrectly. Check to see that the string includes all the characters before and after the slash and no sentence punctuation marks.</li><li>The DOI has not been activated yet. Please try again later, and report the problem if the error continues.</li></ul><button>Report an Error</button></main><footer>Copyright © 2023 DOI Foundation</footer></body></html>''',{},0.6)
R(N,'wayback-missing','en',404,'https://web.archive.org/web/2012/http://sample-band.org/','''<!DOCTYPE html><html lang="en"><head><title>Internet Archive Wayback Machine</title></head><body class="navia"><ia-topnav></ia-topnav><div id="error"><div id="livewebInfo"><p>The Wayback Machine has not archived that URL.</p><p>This page is not available on the web because page does not exist.</p><p>Try to see all files under <a href="/web/*/http://sample-band.org/*">http://sample-band.org/*</a></p></div></div><footer>The Wayback Machine is an initiative of the Internet Archive, a 501(c)(3) non-profit</footer></body></html>''',{},0.6)
R(N,'nextjs-404','en',404,'https://www.flowform-saas.com/blog/old-post','''<!DOCTYPE html><html lang="en"><head><meta charSet="utf-8"/><meta name="viewport" content="width=device-width"/><title>404: This page could not be found</title><link rel="preload" href="/_next/static/css/'''+hx(16)+'''.css" as="style"/><script defer="" nomodule="" src="/_next/static/chunks/polyfills-'''+hx(16)+'''.js"></script></head><body><div id="__next"><div style="font-family:-apple-system, BlinkMacSystemFont, Roboto;height:100vh;text-align:center;display:flex;flex-direction:column;align-items:center;justify-content:center"><div><h1 class="next-error-h1" style="display:inline-block;margin:0;margin-right:20px;padding:0 23px 0 0">404</h1><div style="display:inline-block"><h2>This page could not be found<!-- -->.</h2></div></div></div></div><script id="__NEXT_DATA__" type="application/json">{"props":{"pageProps":{"statusCode":404}},"page":"/_error","query":{},"buildId":"'''+b64(21)+'''","nextExport":true}</script></body></html>''',{},0.6)
R(N,'laravel-404','en',404,'https://www.fitness-challenge-app.com/u/221','''<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Not Found</title><style>/*! normalize.css v8.0.1 */html{line-height:1.15}</style></head><body class="antialiased"><div class="relative flex items-top justify-center min-h-screen bg-gray-100"><div class="max-w-xl mx-auto"><div class="flex items-center pt-8"><div class="px-4 text-lg text-gray-500 border-r">404</div><div class="ml-4 text-lg text-gray-500 uppercase tracking-wider">Not Found</div></div></div></div></body></html>''',{},0.4)
R(N,'rails-404','en',404,'https://www.recipe-swap-circle.com/recipes/221','''<!DOCTYPE html>
<html>
<head>
  <title>The page you were looking for doesn't exist (404)</title>
  <meta name="viewport" content="width=device-width,initial-scale=1">
  <style>
  .rails-default-error-page { background-color: #EFEFEF; color: #2E2F30; text-align: center; font-family: arial, sans-serif; margin: 0; }
  </style>
</head>

<body class="rails-default-error-page">
  <!-- This file lives in public/404.html -->
  <div class="dialog">
    <div>
      <h1>The page you were looking for doesn't exist.</h1>
      <p>You may have mistyped the address or the page may have moved.</p>
    </div>
    <p>If you are the application owner check the logs for more information.</p>
  </div>
</body>
</html>''',{},0.4)
R(N,'django-404','en',404,'https://www.opendata-city.org/d/2','''
<!doctype html>
<html lang="en">
<head>
  <title>Not Found</title>
</head>
<body>
  <h1>Not Found</h1><p>The requested resource was not found on this server.</p>
</body>
</html>''',{"Server":"gunicorn"},0.2)
R(N,'express-cannot-get','en',404,'https://api.petstore-demo.dev/v3','''<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Error</title>
</head>
<body>
<pre>Cannot GET /v3</pre>
</body>
</html>''',{"X-Powered-By":"Express"},0.2)
R(N,'s3-nosuchkey','en',404,'https://assets.brandkit-2019.s3.amazonaws.com/index.html','''<?xml version="1.0" encoding="UTF-8"?>
<Error><Code>NoSuchKey</Code><Message>The specified key does not exist.</Message><Key>index.html</Key><RequestId>'''+b64(16).upper()+'''</RequestId><HostId>'''+b64(70)+'''=</HostId></Error>''',{"Server":"AmazonS3","Content-Type":"application/xml"},0.2)
R(N,'ghpages-404','en',404,'https://student-portfolio.github.io/','''<!DOCTYPE html>
<html>
  <head>
    <meta http-equiv="Content-type" content="text/html; charset=utf-8">
    <title>Site not found &middot; GitHub Pages</title>
    <style type="text/css" media="screen">body { background-color: #f1f1f1; margin: 0; font-family: "Helvetica Neue", Helvetica, Arial, sans-serif; }</style>
  </head>
  <body>
    <div class="container">
      <h1>404</h1>
      <p><strong>There isn't a GitHub Pages site here.</strong></p>
      <p>If you're trying to publish one, <a href="https://help.github.com/pages/">read the full documentation</a> to learn how to set up <strong>GitHub Pages</strong> for your repository, organization, or user account.</p>
      <div id="suggestions"><a href="https://githubstatus.com">GitHub Status</a> &mdash; <a href="https://twitter.com/githubstatus">@githubstatus</a></div>
    </div>
  </body>
</html>''',{"Server":"GitHub.com"},0.3)
R(N,'netlify-not-found','en',404,'https://sleepy-bell-221.netlify.app/','''<!DOCTYPE html><html><head><meta charset="utf-8"><title>Site not found</title><style>:root{--colorRgbFacetsTeal600:2 128 125}</style></head><body><main><div class="main"><div class="card"><div class="header"><h1>Site not found</h1></div><div class="body"><p>Looks like you followed a broken link or entered a URL that doesn't exist on Netlify.</p><p>If this is your site, and you weren't expecting a 404 for this path, please visit Netlify's <a href="https://answers.netlify.com/t/support-guide">"page not found" support guide</a> for troubleshooting tips.</p><p>Netlify Internal ID: <code>01H'''+b64(23).upper()+'''</code></p></div></div></div></main></body></html>''',{"Server":"Netlify"},0.5)
R(N,'vercel-404','en',404,'https://old-deploy-221.vercel.app/','''<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content="width=device-width,initial-scale=1"><title>404: NOT_FOUND</title><style>html{font-size:62.5%;box-sizing:border-box;height:-webkit-fill-available}</style><div class=container><main><p class=devinfo-container><span class=error-code><strong>404</strong>: NOT_FOUND</span>
<span class=devinfo-line>Code: <code>DEPLOYMENT_NOT_FOUND</code></span>
<span class=devinfo-line>ID: <code>fra1::'''+b64(5)+'-'+dg(13)+'''</code></span></p><a href="https://vercel.com/docs/errors/DEPLOYMENT_NOT_FOUND" class=owner-error-anchor><div class=note>This deployment cannot be found. For more information and troubleshooting, see our documentation.</div></a></main></div>''',{"Server":"Vercel"},0.3)
R(N,'heroku-no-app','en',404,'https://guestlist-beta.herokuapp.com/','''<!DOCTYPE html><html><head><meta name="viewport" content="width=device-width, initial-scale=1"><meta charset="utf-8"><title>No such app</title><style media="screen">html,body,iframe{margin:0;padding:0}html,body{height:100%;overflow:hidden}iframe{width:100%;height:100%;border:0}</style></head><body><iframe src="//www.herokucdn.com/error-pages/no-such-app.html"></iframe></body></html>''',{"Server":"Cowboy"},0.4)
R(N,'firebase-not-found','en',404,'https://quizmaker-demo.web.app/','''<!DOCTYPE html><html><head><meta charset="utf-8"><title>Site Not Found</title><style media="screen">body{background:#ECEFF1;color:rgba(0,0,0,0.87);font-family:Roboto}</style></head><body><div id="message"><h1>Site Not Found</h1><h2>Why am I seeing this?</h2><p>There are a few potential reasons:</p><ol><li>You haven't deployed an app yet.</li><li>You may have deployed an empty directory.</li><li>This is a custom domain, but we haven't finished setting it up yet.</li></ol><p>Refer to our <a href="https://firebase.google.com/docs/hosting/">hosting documentation</a> to get started.</p></div></body></html>''',{},0.4)
R(N,'tumblr-nothing','en',404,'https://softgrungearchive.tumblr.com/post/221','''<!DOCTYPE html><html><head><title>Not found.</title></head><body class="identity error_page"><div class="tx-error-code-container"></div><div class="error_page_container"><section class="error_header">There's nothing here.</section><section class="error_body">Whatever you were looking for doesn't currently exist at this address. Unless you were looking for this error page, in which case: Congrats! You totally found it.</section></div><footer><a>Home</a><a>Terms</a><a>Privacy</a><a>Help</a></footer></body></html>''',{},0.6)
R(N,'blogger-404-pt','pt',404,'http://receitasdavovoines.blogspot.com/2011/02/bolo.html','''<!DOCTYPE html><html class='v2' dir='ltr' lang='pt-BR'><head><link href='https://www.blogger.com/static/v1/widgets/widget_css_bundle.css' rel='stylesheet'/><title>Receitas da Vovó Inês</title></head><body class='loading'><div class='content'><header><h1 class='title'><a href='/'>Receitas da Vovó Inês</a></h1></header><div class='main section'><div class='status-msg-wrap'><div class='status-msg-body'>Lamentamos, mas a página que procurava neste blogue não existe.</div></div></div><aside><h2>Arquivo do blogue</h2><ul><li>2012 (14)</li><li>2011 (52)</li></ul></aside><footer>Tema Simples. Com tecnologia do Blogger.</footer></div></body></html>''',{},0.7,True)
R(N,'docusaurus-404','en',404,'https://docs.pipelinekit.dev/v1/intro','''<!doctype html><html lang="en" dir="ltr" class="plugin-pages plugin-id-default" data-has-hydrated="false"><head><meta charset="UTF-8"><meta name="generator" content="Docusaurus v2.4.1"><title data-rh="true">Page Not Found | PipelineKit</title><link rel="stylesheet" href="/assets/css/styles.'''+hx(8)+'''.css"></head><body class="navigation-with-keyboard"><div id="__docusaurus"><nav class="navbar navbar--fixed-top"><a class="navbar__brand" href="/"><b class="navbar__title">PipelineKit</b></a><a class="navbar__item" href="/docs">Docs</a><a class="navbar__item" href="/blog">Blog</a><a href="https://github.com/pipelinekit">GitHub</a></nav><main class="container margin-vert--xl"><h1 class="hero__title">Page Not Found</h1><p>We could not find what you were looking for.</p><p>Please contact the owner of the site that linked you to the original URL and let them know their link is broken.</p></main><footer class="footer">Copyright © 2023 PipelineKit</footer></div></body></html>''',{},0.7,True)
R(N,'rtd-404','en',404,'https://oldlib.readthedocs.io/en/v0.2/api.html','''<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>404 Not Found | Read the Docs</title></head><body><h1>404 Not Found</h1><p>The documentation page you requested does not exist or may have been removed.</p><p>Hello! If you have followed a link to get here, it may be broken. You can try <a href="/">the homepage of the project</a>.</p><pre>\\          SORRY            /
 \\                         /
  \\    This page does     /
   ]   not exist yet.    [    ,'|
   ]                     [   /  |</pre><footer>Hosted by Read the Docs · Privacy Policy</footer></body></html>''',{},0.6)
R(N,'hand-404-cz','cs',404,'http://www.skautibrno12.cz/fotky/2008.htm',hand('404','<p align="center"><img src="/img/smutny.gif"><h2 align="center">Jejda! Stránka nenalezena.</h2><p align="center">Asi jsme ji někam založili. Zkus <a href="/">hlavní stránku</a>.</p>','#ccffcc','windows-1250','cs'),{},0.8)
R(N,'news-404-ru','ru',404,'https://www.vestnik-oblasti.ru/news/2018/08/221',news('ru','Вестник области','https://www.vestnik-oblasti.ru/','Страница не найдена','''<div class="error"><h1>404</h1><p>Страница не найдена. Возможно, она была удалена или вы перешли по неверной ссылке.</p><a href="/">На главную</a></div>''',['Новости','Экономика','Общество','Спорт'],ban=banner('ru')),{},0.9,True)
R(N,'shop-404-tr','tr',404,'https://www.evdekokahve.com.tr/urun/cezve',magento('tr','Evde Kahve','https://www.evdekokahve.com.tr/','Sayfa bulunamadı','''<div class="not-found"><h1>Aradığınız sayfa bulunamadı</h1><p>Ürün yayından kaldırılmış veya adresi değişmiş olabilir.</p><a href="/">Anasayfaya dön</a></div>''',['Kahveler','Ekipman','Hediye','Kampanyalar']),{},0.9,True)
R(N,'shop-404-ja','ja',404,'https://www.wagashi-tsuhan.jp/item/221','''<!DOCTYPE html><html lang="ja"><head><meta charset="UTF-8"><title>ページが見つかりません | 和菓子通販 松葉堂</title></head><body><header><a href="/">松葉堂</a><nav><ul><li>商品一覧</li><li>季節のお菓子</li><li>ご利用ガイド</li><li>カート</li></ul></nav></header><main><h1>お探しのページは見つかりませんでした。</h1><p>ページが移動または削除されたか、URLの入力間違いの可能性があります。</p><a href="/">トップページへ戻る</a></main><footer><ul><li>特定商取引法に基づく表記</li><li>プライバシーポリシー</li></ul><small>©松葉堂</small></footer></body></html>''',{},0.9,True)
R(N,'zh-404-baidu-gongyi','zh',404,'https://www.huaxia-jiaoyu.cn/a/221.html','''<!DOCTYPE html><html><head><meta charset="utf-8"><title>404 页面不存在</title></head><body><script type="text/javascript" src="//qzonestyle.gtimg.cn/qzone/hybrid/app/404/search_children.js" charset="utf-8" homePageUrl="/" homePageName="回到我的主页"></script><p>很抱歉,您要访问的页面不存在或已被删除!</p></body></html>''',{},0.7)
R(N,'ko-404','ko',404,'https://www.hanbit-munhwa.or.kr/board/view.do?no=221',gov('ko','한빛문화재단','https://www.hanbit-munhwa.or.kr/','페이지를 찾을 수 없습니다','''<div class="error"><strong>요청하신 페이지를 찾을 수 없습니다.</strong><p>방문하시려는 페이지의 주소가 잘못 입력되었거나, 변경 혹은 삭제되어 요청하신 페이지를 찾을 수 없습니다.</p><a>이전 페이지</a> <a>메인으로</a></div>''',['재단소개','공연','전시','알림마당']),{},0.9,True)
R(N,'el-404','el',404,'https://www.dimos-paralias.gr/nea/221',wp('el','Δήμος Παραλίας','https://www.dimos-paralias.gr/','Η σελίδα δεν βρέθηκε','''<section class="error-404"><h1>Ωχ! Η σελίδα δεν βρέθηκε.</h1><p>Φαίνεται ότι δεν υπάρχει τίποτα εδώ. Δοκιμάστε μια αναζήτηση.</p></section>''',['Αρχική','Ο Δήμος','Ανακοινώσεις','Επικοινωνία'],cls='error404'),{},0.9,True)
R(N,'ro-404','ro',404,'https://www.librariacarturest.ro/carte/221',shopify('ro','Librăria Carturest','https://www.librariacarturest.ro/carte/221','Pagina nu a fost găsită','''<div class="template-404"><h1>Pagina nu a fost găsită</h1><p>Ne pare rău, produsul căutat nu mai este disponibil.</p></div>''',['Cărți','Jocuri','Papetărie']),{},0.9,True)
R(N,'hu-hirdetes','hu',200,'https://www.hasznaltjarmu.hu/hirdetes/221',gov('hu','Használt Jármű','https://www.hasznaltjarmu.hu/','A hirdetés nem található','''<h1>A keresett hirdetés már nem elérhető</h1><p>A hirdető törölte, vagy lejárt a hirdetés érvényessége.</p>''',['Autó','Motor','Teher','Alkatrész']),{},1,True)
# ============ SERVER ERROR ============
S='server-error'
for code,t in ((502,'Bad Gateway'),(504,'Gateway Time-out'),(500,'Internal Server Error')):
    R(S,'nginx-%d'%code,'en',code,'https://www.%s-union.org/index.php?p=%d'%(rnd.choice(['teachers','sailing','credit','farmers']),code),f'''<html>
<head><title>{code} {t}</title></head>
<body{' bgcolor="white"' if code!=504 else ''}>
<center><h1>{code} {t}</h1></center>
<hr><center>{rnd.choice(['nginx','nginx/1.14.0 (Ubuntu)','openresty/1.19.9.1'])}</center>
</body>
</html>''',NGX(),0.25)
R(S,'apache-500','en',500,'http://www.irishdance-feis.com/results.php','''<!DOCTYPE HTML PUBLIC "-//IETF//DTD HTML 2.0//EN">
<html><head>
<title>500 Internal Server Error</title>
</head><body>
<h1>Internal Server Error</h1>
<p>The server encountered an internal error or
misconfiguration and was unable to complete
your request.</p>
<p>Please contact the server administrator at 
 webmaster@irishdance-feis.com to inform them of the time this error occurred,
 and the actions you performed just before this error.</p>
<p>More information about this error may be available
in the server error log.</p>
<p>Additionally, a 500 Internal Server Error
error was encountered while trying to use an ErrorDocument to handle the request.</p>
</body></html>''',APA(),0.2)
R(S,'apache-503','en',503,'http://webapps.county-archives.us/deeds','''<!DOCTYPE HTML PUBLIC "-//IETF//DTD HTML 2.0//EN">
<html><head>
<title>503 Service Unavailable</title>
</head><body>
<h1>Service Unavailable</h1>
<p>The server is temporarily unable to service your
request due to maintenance downtime or capacity
problems. Please try again later.</p>
</body></html>''',APA(),0.2)
R(S,'iis-503','en',503,'http://booking.hotel-panorama.ba/','''<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN""http://www.w3.org/TR/html4/strict.dtd">
<HTML><HEAD><TITLE>Service Unavailable</TITLE>
<META HTTP-EQUIV="Content-Type" Content="text/html; charset=us-ascii"></HEAD>
<BODY><h2>Service Unavailable</h2>
<hr><p>HTTP Error 503. The service is unavailable.</p>
</BODY></HTML>''',{"Server":"Microsoft-HTTPAPI/2.0"},0.2)
R(S,'aspnet-ysod','en',500,'http://www.boatsales-marina.com/listing.aspx?id=x','''<!DOCTYPE html>
<html>
    <head>
        <title>Runtime Error</title>
        <meta name="viewport" content="width=device-width" />
        <style>
         body {font-family:"Verdana";font-weight:normal;font-size: .7em;color:black;} 
         H1 { font-family:"Verdana";font-weight:normal;font-size:18pt;color:red }
        </style>
    </head>
    <body bgcolor="white">
            <span><H1>Server Error in '/' Application.<hr width=100% size=1 color=silver></H1>
            <h2> <i>Runtime Error</i> </h2></span>
            <font face="Arial, Helvetica, Geneva, SunSans-Regular, sans-serif ">
            <b> Description: </b>An application error occurred on the server. The current custom error settings for this application prevent the details of the application error from being viewed remotely (for security reasons). It could, however, be viewed by browsers running on the local server machine.
            <br><br>
            <b>Details:</b> To enable the details of this specific error message to be viewable on remote machines, please create a &lt;customErrors&gt; tag within a &quot;web.config&quot; configuration file located in the root directory of the current web application. This &lt;customErrors&gt; tag should then have its &quot;mode&quot; attribute set to &quot;Off&quot;.<br><br>
            <table width=100% bgcolor="#ffffcc"><tr><td><code><pre>
&lt;!-- Web.Config Configuration File --&gt;
&lt;configuration&gt;
    &lt;system.web&gt;
        &lt;customErrors mode=&quot;Off&quot;/&gt;
    &lt;/system.web&gt;
&lt;/configuration&gt;</pre></code></td></tr></table>
    </body>
</html>''',{"Server":"Microsoft-IIS/8.5","X-AspNet-Version":"4.0.30319"},0.5)
R(S,'aspnet-ysod-de','de',500,'http://www.stadtwerke-altburg.de/tarife.aspx','''<!DOCTYPE html><html><head><title>Der Index lag außerhalb des Bereichs.</title></head><body bgcolor="white"><span><H1>Serverfehler in der Anwendung /.<hr width=100% size=1 color=silver></H1><h2> <i>Der Objektverweis wurde nicht auf eine Objektinstanz festgelegt.</i> </h2></span><b> Beschreibung: </b>Unbehandelte Ausnahme beim Ausführen der aktuellen Webanforderung. Überprüfen Sie die Stapelüberwachung, um weitere Informationen über diesen Fehler anzuzeigen und festzustellen, wo der Fehler im Code verursacht wurde.<br><br><b> Ausnahmedetails: </b>System.NullReferenceException: Der Objektverweis wurde nicht auf eine Objektinstanz festgelegt.<br><br><b>Quellfehler:</b><pre>Beim Ausführen der aktuellen Webanforderung wurde einen unbehandelte Ausnahme generiert.</pre><b>Stapelüberwachung:</b><pre>[NullReferenceException: Der Objektverweis wurde nicht auf eine Objektinstanz festgelegt.]
   Tarife.Page_Load(Object sender, EventArgs e) +221
   System.Web.UI.Control.LoadRecursive() +71</pre></body></html>''',{},0.6)
R(S,'php-fatal','en',200,'http://www.kennel-goldenretrievers.net/litters.php','''<br />
<b>Fatal error</b>:  Uncaught Error: Call to undefined function mysql_connect() in /home/kennel/public_html/inc/db.php:14
Stack trace:
#0 /home/kennel/public_html/litters.php(3): include()
#1 {main}
  thrown in <b>/home/kennel/public_html/inc/db.php</b> on line <b>14</b><br />
''',{"X-Powered-By":"PHP/7.4.33"},1)
R(S,'php-mysql-warning','en',200,'http://www.scale-ship-plans.com/plan.php?id=12','''<html><head><title>Scale Ship Plans</title></head><body>
<br />
<b>Warning</b>:  mysqli_connect(): (HY000/2002): Connection refused in <b>/var/www/html/config.php</b> on line <b>8</b><br />
Failed to connect to MySQL: Connection refused</body></html>''',{},1)
R(S,'wp-db-connection','en',500,'https://www.slowtravel-couple.com/','''<!DOCTYPE html>
<html lang="en-US">
<head>
	<meta http-equiv="Content-Type" content="text/html; charset=UTF-8" />
	<meta name="viewport" content="width=device-width" />
		<meta name='robots' content='max-image-preview:large, noindex, follow' />
	<title>Database Error</title>
	<style type="text/css">
		html { background: #f1f1f1; }
		body { background: #fff; border: 1px solid #ccd0d4; color: #444; font-family: -apple-system, BlinkMacSystemFont, "Segoe UI", Roboto, sans-serif; margin: 2em auto; padding: 1em 2em; max-width: 700px; }
	</style>
</head>
<body id="error-page">
	<div class="wp-die-message"><h1>Error establishing a database connection</h1></div></body>
</html>''',{},0.6)
R(S,'wp-db-connection-es','es',500,'https://www.peluqueria-canina-luna.es/','''<!DOCTYPE html><html lang="es"><head><meta charset="utf-8"><title>Error en la base de datos</title></head><body id="error-page"><div class="wp-die-message"><h1>Error al establecer una conexión con la base de datos</h1></div></body></html>''',{},0.7)
R(S,'wp-critical','en',500,'https://www.vinylcuts-store.com/shop/','''<!DOCTYPE html>
<html lang="en-US">
<head>
	<meta http-equiv="Content-Type" content="text/html; charset=UTF-8" />
	<meta name="viewport" content="width=device-width">
	<meta name='robots' content='max-image-preview:large, noindex, follow' />
	<title>WordPress &rsaquo; Error</title>
	<style type="text/css">html{background:#f1f1f1}body{background:#fff;border:1px solid #ccd0d4;color:#444;margin:2em auto;padding:1em 2em;max-width:700px}#error-page p,#error-page .wp-die-message{font-size:14px;line-height:1.5;margin:25px 0 20px}</style>
</head>
<body id="error-page">
	<div class="wp-die-message"><p>There has been a critical error on this website.</p><p><a href="https://wordpress.org/documentation/article/faq-troubleshooting/">Learn more about troubleshooting WordPress.</a></p></div></body>
</html>''',{},0.6)
R(S,'wp-critical-fr','fr',500,'https://www.gite-lespins-vercors.fr/','''<!DOCTYPE html><html lang="fr-FR"><head><meta charset="utf-8"><title>WordPress &rsaquo; Erreur</title></head><body id="error-page"><div class="wp-die-message"><p>Il y a eu une erreur critique sur ce site.</p><p><a href="https://fr.wordpress.org/support/article/faq-troubleshooting/">En apprendre plus sur le débogage de WordPress.</a></p></div></body></html>''',{},0.7)
R(S,'wp-maintenance','en',503,'https://www.backyardchickens-tips.com/coops/','''<!DOCTYPE html><html lang="en-US"><head><meta http-equiv="Content-Type" content="text/html; charset=UTF-8" /><meta name="viewport" content="width=device-width"><title>Maintenance</title></head><body id="error-page"><div class="wp-die-message">Briefly unavailable for scheduled maintenance. Check back in a minute.</div></body></html>''',{"Retry-After":"600"},0.6)
R(S,'wp-critical-in-theme','en',200,'https://www.mosaic-tiles-art.com/gallery/',wp('en','Mosaic Tiles Art','https://www.mosaic-tiles-art.com/','Gallery','''<h1 class="entry-title">Gallery</h1><div class="entry-content"><p>There has been a critical error on this website. Please check your site admin email inbox for instructions.</p></div>''',['Home','Gallery','Workshops','Shop','Contact'],theme='oceanwp'),{},1,True)
def cf5(code,t,site,what,do,st='Error'): return f'''<!DOCTYPE html>
<html class="no-js" lang="en-US">
<head>
<title>{site} | {code}: {t}</title>
<meta charset="UTF-8" /><meta http-equiv="X-UA-Compatible" content="IE=Edge" /><meta name="robots" content="noindex, nofollow" /><meta name="viewport" content="width=device-width,initial-scale=1" />
<link rel="stylesheet" id="cf_styles-css" href="/cdn-cgi/styles/main.css" />
</head>
<body>
<div id="cf-wrapper"><div id="cf-error-details" class="p-0">
  <header class="mx-auto pt-10 lg:pt-6 lg:px-8 w-240 lg:w-full mb-8"><h1 class="inline-block sm:block sm:mb-2 font-light text-60 lg:text-4xl text-black-dark leading-tight mr-2"><span class="inline-block">{t}</span><span class="code-label">Error code {code}</span></h1><div>Visit <a href="https://www.cloudflare.com/5xx-error-landing?utm_source=errorcode_{code}" target="_blank" rel="noopener noreferrer">cloudflare.com</a> for more information.</div><div class="mt-3">2023-0{rnd.randint(1,9)}-1{rnd.randint(0,9)} 04:2{rnd.randint(0,9)}:41 UTC</div></header>
  <div class="my-8 bg-gradient-gray"><div class="w-240 lg:w-full mx-auto"><div class="clearfix md:px-8">
   <div id="cf-browser-status" class="relative w-1/3"><span class="md:block w-full truncate">You</span><h3 class="md:inline-block mt-3 text-2xl text-gray-600 font-light leading-1.3">Browser</h3><span class="leading-1.3 text-2xl text-green-success">Working</span></div>
   <div id="cf-cloudflare-status" class="relative w-1/3"><span>Frankfurt</span><h3>Cloudflare</h3><span class="text-green-success">Working</span></div>
   <div id="cf-host-status" class="cf-error-source relative w-1/3"><span>{site}</span><h3>Host</h3><span class="text-red-error">{st}</span></div>
  </div></div></div>
  <div class="w-240 lg:w-full mx-auto mb-8 lg:px-8"><div class="clearfix"><div class="w-1/2"><h2 class="text-3xl font-normal leading-1.3 mb-4">What happened?</h2><p>{what}</p></div><div class="w-1/2"><h2 class="text-3xl font-normal leading-1.3 mb-4">What can I do?</h2>{do}</div></div></div>
  <div class="cf-error-footer"><p class="text-13"><span class="cf-footer-item">Cloudflare Ray ID: <strong>{ray()}</strong></span> &bull; <span>Your IP: {ip()}</span> &bull; <span>Performance &amp; security by <a href="https://www.cloudflare.com/5xx-error-landing">Cloudflare</a></span></p></div>
</div></div>
</body></html>'''
R(S,'cloudflare-522','en',522,'https://www.oldmapsshop.net/',cf5(522,'Connection timed out','oldmapsshop.net','The initial connection between Cloudflare\'s network and the origin web server timed out. As a result, the web page can not be displayed.','<h5>If you\'re a visitor of this website:</h5><p>Please try again in a few minutes.</p><h5>If you\'re the owner of this website:</h5><p>Contact your hosting provider letting them know your web server is not completing requests. An Error 522 means that the request was able to connect to your web server, but that the request didn\'t finish.</p>'),CFH(),0.4)
R(S,'cloudflare-521','en',521,'https://www.chiropractor-tulsa.com/',cf5(521,'Web server is down','chiropractor-tulsa.com','The web server is not returning a connection. As a result, the web page is not displaying.','<p>If you are a visitor of this website:</p><p>Please try again in a few minutes.</p>'),CFH(),0.4)
R(S,'cloudflare-520','en',520,'https://www.nightsky-photos.org/',cf5(520,'Web server is returning an unknown error','nightsky-photos.org','There is an unknown connection issue between Cloudflare and the origin web server. As a result, the web page can not be displayed.','<p>Please try again in a few minutes. There is an issue between Cloudflare\'s cache and your origin web server.</p>'),CFH(),0.4)
R(S,'cloudflare-502','en',502,'https://www.handball-bundesliga-tipps.de/',cf5(502,'Bad gateway','handball-bundesliga-tipps.de','The web server reported a bad gateway error.','<p>Please try again in a few minutes.</p>'),CFH(),0.4)
R(S,'cloudflare-526','en',526,'https://www.parishnews-online.ie/',cf5(526,'Invalid SSL certificate','parishnews-online.ie','The origin web server does not have a valid SSL certificate.','<p>If you\'re a visitor of this website: Please try again in a few minutes.</p>'),CFH(),0.4)
R(S,'cloudflare-1016','en',530,'https://blog.indiepaper.co/',f'''<!DOCTYPE html><html class="no-js" lang="en-US"><head><title>Origin DNS error | blog.indiepaper.co | Cloudflare</title><meta charset="UTF-8" /><link rel="stylesheet" id="cf_styles-css" href="/cdn-cgi/styles/cf.errors.css" /></head><body><div id="cf-wrapper"><div id="cf-error-details" class="cf-error-details-wrapper"><div class="cf-wrapper cf-error-overview"><h1><span class="cf-error-type" data-translate="error">Error</span><span class="cf-error-code">1016</span><small class="heading-ray-id">Ray ID: {ray()} &bull; 2020-04-12 09:11:30 UTC</small></h1><h2 class="cf-subheadline">Origin DNS error</h2></div><div class="cf-section cf-wrapper"><div class="cf-columns two"><div class="cf-column"><h2 data-translate="what_happened">What happened?</h2><p>You've requested a page on a website (blog.indiepaper.co) that is on the <a href="https://www.cloudflare.com/">Cloudflare</a> network. Cloudflare is currently unable to resolve your requested domain (blog.indiepaper.co).</p></div><div class="cf-column"><h2>What can I do?</h2><p><strong>If you are a visitor of this website:</strong><br />Please try again in a few minutes.</p></div></div></div></div></div></body></html>''',CFH(),0.4)
R(S,'fastly-guru','en',503,'https://www.knitwear-patterns.com/free','''<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN"
 "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">
<html>
  <head>
    <title>503 Backend fetch failed</title>
  </head>
  <body>
    <h1>Error 503 Backend fetch failed</h1>
    <p>Backend fetch failed</p>
    <h3>Guru Meditation:</h3>
    <p>XID: '''+dg(9)+'''</p>
    <hr>
    <p>Varnish cache server</p>
  </body>
</html>''',{"Via":"1.1 varnish"},0.4)
R(S,'fastly-unknown-domain','en',500,'https://beta.songbook-app.com/','''<html>
<head>
<title>Fastly error: unknown domain beta.songbook-app.com</title>
</head>
<body>
<p>Fastly error: unknown domain: beta.songbook-app.com. Please check that this domain has been added to a service.</p>
<p>Details: cache-fra-eddf'''+dg(7)+'''-FRA</p></body></html>''',{},0.4)
R(S,'heroku-app-error','en',503,'https://www.classroom-polls.com/','''<!DOCTYPE html><html><head><meta name="viewport" content="width=device-width, initial-scale=1"><meta charset="utf-8"><title>Application Error</title><style media="screen">html,body,iframe { margin: 0; padding: 0; } html,body { height: 100%; overflow: hidden; } iframe { width: 100%; height: 100%; border: 0; }</style></head><body><iframe src="//www.herokucdn.com/error-pages/application-error.html"></iframe></body></html>''',{"Server":"Cowboy"},0.5)
R(S,'rails-500','en',500,'https://www.carpool-finder.org/rides','''<!DOCTYPE html>
<html>
<head>
  <title>We're sorry, but something went wrong (500)</title>
  <meta name="viewport" content="width=device-width,initial-scale=1">
  <style>.rails-default-error-page { background-color: #EFEFEF; color: #2E2F30; text-align: center; font-family: arial, sans-serif; margin: 0; }</style>
</head>
<body class="rails-default-error-page">
  <!-- This file lives in public/500.html -->
  <div class="dialog"><div><h1>We're sorry, but something went wrong.</h1></div><p>If you are the application owner check the logs for more information.</p></div>
</body>
</html>''',{},0.4)
R(S,'django-500','en',500,'https://www.opendata-city.org/map','<!doctype html>\n<html lang="en">\n<head>\n  <title>Server Error (500)</title>\n</head>\n<body>\n  <h1>Server Error (500)</h1><p></p>\n</body>\n</html>',{},0.3)
R(S,'django-debug','en',500,'http://dev.allotment-plots.org/plots/','''<!DOCTYPE html>
<html lang="en">
<head>
  <meta http-equiv="content-type" content="text/html; charset=utf-8">
  <meta name="robots" content="NONE,NOARCHIVE">
  <title>OperationalError at /plots/</title>
  <style type="text/css">html * { padding:0; margin:0; } body * { padding:10px 20px; } #summary { background: #ffc; }</style>
</head>
<body>
<div id="summary">
  <h1>OperationalError at /plots/</h1>
  <pre class="exception_value">could not connect to server: Connection refused
	Is the server running on host &quot;db&quot; (172.18.0.2) and accepting
	TCP/IP connections on port 5432?</pre>
  <table class="meta"><tr><th>Request Method:</th><td>GET</td></tr><tr><th>Request URL:</th><td>http://dev.allotment-plots.org/plots/</td></tr><tr><th>Django Version:</th><td>3.2.16</td></tr><tr><th>Exception Type:</th><td>OperationalError</td></tr><tr><th>Python Executable:</th><td>/usr/local/bin/python</td></tr></table>
</div>
<div id="traceback"><h2>Traceback <span class="commands"><a href="#">Switch to copy-and-paste view</a></span></h2><ul class="traceback"><li class="frame django"><code>/usr/local/lib/python3.9/site-packages/django/db/backends/base/base.py</code>, line 219, in ensure_connection</li></ul></div>
<div id="explanation"><p>You're seeing this error because you have <code>DEBUG = True</code> in your Django settings file. Change that to <code>False</code>, and Django will display a standard page generated by the handler for this status code.</p></div>
</body></html>''',{},0.6)
R(S,'laravel-503','en',503,'https://www.marathon-registration.org/','''<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Service Unavailable</title><style>/*! normalize.css v8.0.1 */</style></head><body class="antialiased"><div class="relative flex items-top justify-center min-h-screen bg-gray-100"><div class="max-w-xl mx-auto"><div class="flex items-center pt-8"><div class="px-4 text-lg text-gray-500 border-r border-gray-400 tracking-wider">503</div><div class="ml-4 text-lg text-gray-500 uppercase tracking-wider">Service Unavailable</div></div></div></div></body></html>''',{},0.4)
R(S,'symfony-oops','en',500,'https://www.theatre-tickets-online.fr/en/seats','''<!DOCTYPE html>
<html>
<head>
    <meta charset="UTF-8" />
    <meta name="robots" content="noindex,nofollow,noarchive" />
    <title>An Error Occurred: Internal Server Error</title>
    <style>body { background-color: #fff; color: #222; font: 16px/1.5 -apple-system, BlinkMacSystemFont, "Segoe UI", Roboto, sans-serif; margin: 0; }
.container { margin: 30px; max-width: 600px; }</style>
</head>
<body>
<div class="container">
    <h1>Oops! An Error Occurred</h1>
    <h2>The server returned a "500 Internal Server Error".</h2>
    <p>Something is broken. Please let us know what you were doing when this error occurred. We will fix it as soon as possible. Sorry for any inconvenience caused.</p>
</div>
</body>
</html>''',{},0.5)
R(S,'magento-exception','en',503,'https://www.garden-statues-uk.co.uk/lions.html','''<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd"><html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en" lang="en"><head><title>There has been an error processing your request</title><meta name="robots" content="*" /><link rel="stylesheet" href="/errors/default/css/styles.css" type="text/css" /></head><body><main class="page-main"><h1>There has been an error processing your request</h1><p><strong>Exception printing is disabled by default for security reasons.</strong></p><p>Error log record number: '''+hx(64)+'''</p></main></body></html>''',{},0.6)
R(S,'magento-maintenance-de','de',503,'https://www.weinhandel-rheingau24.de/','''<!DOCTYPE html><html lang="de"><head><title>503: Dienst nicht verfügbar</title><link rel="stylesheet" href="/pub/errors/default/css/styles.css"></head><body><main class="page-main"><h1>Dienst vorübergehend nicht verfügbar</h1><p>Der Server ist wegen Wartungsarbeiten momentan nicht in der Lage, Ihre Anfrage zu bearbeiten. Bitte versuchen Sie es später noch einmal.</p></main></body></html>''',{},0.6)
R(S,'drupal-unexpected','en',500,'https://www.folk-museum-north.org/exhibits','The website encountered an unexpected error. Please try again later.',{"X-Generator":"Drupal 8 (https://www.drupal.org)"},0.7)
R(S,'drupal-unexpected-theme','en',200,'https://www.wetlands-alliance.org/node/12',drupal('en','Wetlands Alliance','https://www.wetlands-alliance.org','Error','<p>The website encountered an unexpected error. Please try again later.</p>',['Learn','Act','Map','Donate']),{},1,True)
R(S,'typo3-oops','de',503,'https://www.kreissportbund-ost.de/','''<!DOCTYPE html><html><head><meta charset="utf-8"><title>Oops, an error occurred!</title></head><body><div class="container"><h1>Oops, an error occurred!</h1><p>Oops, an error occurred! Code: 20220314'''+dg(6)+hx(8)+'''</p></div></body></html>''',{},0.6)
R(S,'typo3-content-oops','de',200,'https://www.vg-sonnenberg.de/buergerservice/formulare',typo3('de','Verbandsgemeinde Sonnenberg','https://www.vg-sonnenberg.de/','Formulare','<div class="frame">Oops, an error occurred! Code: 202301'+dg(8)+hx(8)+'</div>',['Rathaus','Bürgerservice','Tourismus','Wirtschaft']),{},1,True)
R(S,'joomla-db','en',500,'http://www.chessclub-oakville.ca/','Error displaying the error page: Application Instantiation Error: Could not connect to MySQL.',{},0.7)
R(S,'phpbb-general-error','en',503,'https://forum.kitcar-builders.co.uk/','''<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN"><html xmlns="http://www.w3.org/1999/xhtml" dir="ltr"><head><meta http-equiv="content-type" content="text/html; charset=utf-8" /><title>General Error</title><style type="text/css">* { margin: 0; padding: 0; } body { background: #E4EDF0; font-family: Verdana }</style></head><body id="errorpage"><div id="wrap"><div id="page-header"></div><div id="acp"><div class="panel"><div id="content"><h1>General Error</h1><div>SQL ERROR [ mysqli ]<br /><br />Too many connections [1040]<br /><br />An sql error occurred while fetching this page. Please contact an administrator if this problem persists.</div></div></div></div><div id="page-footer">Powered by phpBB&reg; Forum Software &copy; phpBB Limited</div></div></body></html>''',{},0.6)
R(S,'vbulletin-db-error','en',503,'https://forums.tractorpull.net/','''<html><head><title>Database error</title></head><body>
<!-- Database error in vBulletin 3.8.7: -->
<center><h3>The database has encountered a problem.</h3><p>Please try the following:</p><ul style="text-align:left;width:400px"><li>Load the page again by clicking the Refresh button in your web browser.</li><li>Open the forums.tractorpull.net home page, then try to open another page.</li><li>Click the Back button to try another link.</li></ul><p>The forums.tractorpull.net forum technical staff have been notified of the error, though you may contact them if the problem persists.</p><p>&nbsp;<br />We apologise for any inconvenience.</p></center></body></html>''',{},0.6)
R(S,'discuz-db-error','zh',200,'http://bbs.muying-zhijia.com/forum.php','''<!DOCTYPE html><html><head><title>bbs.muying-zhijia.com - Database Error</title><meta http-equiv="Content-Type" content="text/html; charset=gbk" /></head><body><div id="container"><h1>Discuz! Database Error</h1><div class='info'>(2002) notconnect</div><div class="info"><p><strong>PHP Debug</strong></p><table><tr><td>No.</td><td>File</td><td>Line</td><td>Code</td></tr><tr><td>1</td><td>forum.php</td><td>57</td><td>discuz_application-&gt;init()</td></tr></table></div><div class="help"><a href="http://bbs.muying-zhijia.com">bbs.muying-zhijia.com</a> 已经将此出错信息详细记录, 由此给您带来的访问不便我们深感歉意. <a href="http://faq.comsenz.com/">寻求帮助</a></div></div></body></html>''',{},1)
R(S,'tomcat-500','en',500,'http://ebilling.gasnetz-sued.com:8080/portal','''<!doctype html><html lang="en"><head><title>HTTP Status 500 – Internal Server Error</title><style type="text/css">body {font-family:Tahoma,Arial,sans-serif;} h1 {color:white;background-color:#525D76;}</style></head><body><h1>HTTP Status 500 – Internal Server Error</h1><hr class="line" /><p><b>Type</b> Exception Report</p><p><b>Message</b> An exception occurred processing JSP page [/index.jsp] at line [14]</p><p><b>Description</b> The server encountered an unexpected condition that prevented it from fulfilling the request.</p><p><b>Exception</b></p><pre>org.apache.jasper.JasperException: An exception occurred processing JSP page [/index.jsp] at line [14]
	org.apache.jasper.servlet.JspServletWrapper.handleJspException(JspServletWrapper.java:617)
	org.apache.jasper.servlet.JspServletWrapper.service(JspServletWrapper.java:489)
	javax.servlet.http.HttpServlet.service(HttpServlet.java:733)
</pre><p><b>Root Cause</b></p><pre>java.sql.SQLException: ORA-12514, TNS:listener does not currently know of service requested in connect descriptor
</pre><hr class="line" /><h3>Apache Tomcat/9.0.37</h3></body></html>''',{},0.5)
R(S,'spring-whitelabel','en',500,'https://api.tariff-calc.io/v1/q','''<html><body><h1>Whitelabel Error Page</h1><p>This application has no explicit mapping for /error, so you are seeing this as a fallback.</p><div id='created'>Tue Mar 14 08:12:03 UTC 2023</div><div>There was an unexpected error (type=Internal Server Error, status=500).</div><div></div></body></html>''',{},0.4)
R(S,'weblogic-500','en',500,'https://tramites.registro-civil.gob.pe/consulta','''<HTML><HEAD><TITLE>Error 500--Internal Server Error</TITLE></HEAD><BODY bgcolor="white"><FONT FACE=Helvetica><BR CLEAR=all><TABLE border=0 cellspacing=5><TR><TD><BR CLEAR=all><FONT FACE="Helvetica" COLOR="black" SIZE="3"><H2>Error 500--Internal Server Error</H2></FONT></TD></TR></TABLE><TABLE border=0 width=100% cellpadding=10><TR><TD VALIGN=top WIDTH=100% BGCOLOR=white><FONT FACE="Courier New"><FONT FACE="Helvetica" SIZE="3"><H3>From RFC 2068 <i>Hypertext Transfer Protocol -- HTTP/1.1</i>:</H3></FONT><FONT FACE="Helvetica" SIZE="3"><H4>10.5.1 500 Internal Server Error</H4></FONT><P><FONT FACE="Courier New">The server encountered an unexpected condition which prevented it from fulfilling the request.</FONT></P></FONT></TD></TR></TABLE></BODY></HTML>''',{},0.5)
R(S,'haproxy-503','en',503,'https://live.radio-metal.fm/','''<html><body><h1>503 Service Unavailable</h1>
No server is available to handle this request.
</body></html>
''',{},0.3)
R(S,'envoy-upstream','en',503,'https://api.fooddelivery-lite.com/menu','upstream connect error or disconnect/reset before headers. reset reason: connection failure',{"Server":"envoy"},0.3)
R(S,'google-502','en',502,'https://translate.google.com/translate?u=x','''<!DOCTYPE html>
<html lang=en>
  <meta charset=utf-8>
  <meta name=viewport content="initial-scale=1, minimum-scale=1, width=device-width">
  <title>Error 502 (Server Error)!!1</title>
  <style>
    *{margin:0;padding:0}html,code{font:15px/22px arial,sans-serif}html{background:#fff;color:#222;padding:15px}body{margin:7% auto 0;max-width:390px;min-height:180px;padding:30px 0 15px}
  </style>
  <a href=//www.google.com/><span id=logo aria-label=Google></span></a>
  <p><b>502.</b> <ins>That’s an error.</ins>
  <p>The server encountered a temporary error and could not complete your request.<p>Please try again in 30 seconds.  <ins>That’s all we know.</ins>''',{},0.5)
R(S,'nextjs-client-exception','en',200,'https://www.gearcompare.app/cameras','''<!DOCTYPE html><html><head><meta charSet="utf-8"/><title>GearCompare</title><script src="/_next/static/chunks/main-'''+hx(16)+'''.js" defer=""></script></head><body><div id="__next"><div style="font-family:system-ui;height:100vh;text-align:center;display:flex;flex-direction:column;align-items:center;justify-content:center"><div style="line-height:48px"><h2 style="font-size:14px;font-weight:400">Application error: a client-side exception has occurred (see the browser console for more information).</h2></div></div></div></body></html>''',{},1)
R(S,'shopify-something-wrong','en',500,'https://www.surfwax-co.com/','''<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Something went wrong</title></head><body><div class="page"><h1>Something went wrong</h1><h2>What happened?</h2><p>There was a problem loading this website. Try refreshing the page.</p><p>If the site still doesn't load, please try again in a few minutes.</p><p>Request ID: '''+uuid()+'''</p></div></body></html>''',{},0.6)
R(S,'salesforce-maintenance','en',200,'https://support.hearingaid-maker.com/s/','''<!DOCTYPE html><html><head><title>Down for Maintenance</title></head><body><div id="main"><h1>We are down for maintenance.</h1><p>Sorry for the inconvenience. We'll be back shortly.</p></div></body></html>''',{},0.9)
R(S,'mediawiki-db','en',500,'https://wiki.railway-modules.net/wiki/Main_Page','''<!DOCTYPE html>
<html><head><title>Internal error - Railway Modules</title><style>body { font-family: sans-serif; margin: 0; padding: 0.5em 2em; }</style></head>
<body>
<p>Sorry! This site is experiencing technical difficulties.</p><p>Try waiting a few minutes and reloading.</p><p><small>(Cannot access the database)</small></p>
</body></html>''',{},0.7)
R(S,'wikimedia-error','en',503,'https://en.wikipedia.org/wiki/Otter','''<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Wikimedia Error</title><div class="content" role="main"><a href="https://www.wikimedia.org"><img src="https://www.wikimedia.org/static/images/wmf-logo.png" alt="Wikimedia"></a><h1>Error</h1><div class="content-text"><p>Our servers are currently under maintenance or experiencing a technical problem.</p><p>Please <a href="" title="Reload this page" onclick="window.location.reload(false); return false">try again</a> in a few&nbsp;minutes.</p><p>See the error message at the bottom of this page for more&nbsp;information.</p></div></div><div class="footer"><p>If you report this error to the Wikimedia System Administrators, please include the details below.</p><p class="text-muted"><code>Request from '''+ip()+''' via cp3060 cp3060, Varnish XID '''+dg(9)+'''<br>Error: 503, Backend fetch failed at Mon, 22 Nov 2021 17:01:11 GMT</code></p></div></html>''',{},0.5)
R(S,'bank-maintenance-es','es',200,'https://bancaonline.banco-litoral.com.mx/',bank('es','Banco Litoral','https://bancaonline.banco-litoral.com.mx/','En mantenimiento','''<div class="msg"><h1>Estamos mejorando para ti</h1><p>Nuestro servicio de banca en línea no está disponible en este momento por mantenimiento programado. Inténtalo de nuevo a partir de las 6:00 h.</p><p>Para emergencias llama al 800 123 4567.</p></div>''',['Personas','Empresas','Créditos','Seguros']),{},1,True)
R(S,'gov-maintenance-pt','pt',503,'https://www.portaldascontas.gov.pt/consulta','''<!DOCTYPE html><html lang="pt"><head><meta charset="utf-8"><title>Em manutenção</title></head><body><img src="/brasao.png"><h1>Serviço temporariamente indisponível</h1><p>O portal encontra-se em manutenção. Prevemos retomar o serviço com a maior brevidade possível. Pedimos desculpa pelo incómodo.</p></body></html>''',{},0.7)
R(S,'maintenance-ja','ja',503,'https://www.machinaka-library.jp/opac/','''<!DOCTYPE html><html lang="ja"><head><meta charset="UTF-8"><title>システムメンテナンス中</title></head><body><h1>ただいまメンテナンス中です</h1><p>いつもご利用いただきありがとうございます。<br>下記の時間帯はシステムメンテナンスのため、サービスを停止しております。</p><p>2023年2月20日(月) 22:00 ~ 翌6:00(予定)</p><p>ご不便をおかけいたしますが、ご理解のほどよろしくお願いいたします。</p></body></html>''',{},0.7)
R(S,'maintenance-ko','ko',200,'https://www.seorim-bank.co.kr/','''<!DOCTYPE html><html lang="ko"><head><meta charset="utf-8"><title>서비스 점검 안내</title></head><body><div class="notice"><h1>서비스 점검 안내</h1><p>보다 안정적인 서비스 제공을 위해 시스템 점검을 실시합니다. 점검 시간 동안 서비스 이용이 일시 중단되오니 양해 부탁드립니다.</p><dl><dt>점검일시</dt><dd>2022.11.13(일) 00:00 ~ 06:00</dd></dl></div></body></html>''',{},1)
R(S,'maintenance-ru','ru',503,'https://www.poliklinika-12.ru/zapis','''<!DOCTYPE html><html lang="ru"><head><meta charset="utf-8"><title>Технические работы</title></head><body><h1>На сайте ведутся технические работы</h1><p>Приносим извинения за временные неудобства. Запись к врачу доступна по телефону регистратуры.</p></body></html>''',{},0.7)
R(S,'bitrix-db-ru','ru',500,'https://www.stroymag-vostok.ru/','''<font face="Verdana, Arial" size="2"><b>MySQL Query Error!</b><br>[[Bitrix\\Main\\DB\\ConnectionException] Mysql connect error [localhost]: (1040) Too many connections (400)]</font>''',{},0.8)
R(S,'cloudlinux-508','en',508,'http://www.karate-dojo-hull.co.uk/','''<!DOCTYPE HTML PUBLIC "-//IETF//DTD HTML 2.0//EN"><HTML><HEAD><TITLE>508 Resource Limit Is Reached</TITLE></HEAD><BODY><H1>Resource Limit Is Reached</H1>The website is temporarily unable to service your request as it exceeded resource limit. Please try again later.<HR><ADDRESS>Apache Server at www.karate-dojo-hull.co.uk Port 80</ADDRESS></BODY></HTML>''',APA(),0.4)
R(S,'aws-api-gateway','en',500,'https://x2.execute-api.eu-west-1.amazonaws.com/prod/page','{"message": "Internal server error"}',{"Content-Type":"application/json"},0.2)
R(S,'uwsgi-ise','en',500,'http://cal.yogaretreats-goa.in/','<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2 Final//EN">\n<title>500 Internal Server Error</title>\n<h1>Internal Server Error</h1>\n<p>The server encountered an internal error and was unable to complete your request. Either the server is overloaded or there is an error in the application.</p>',{},0.3)
R(S,'news-500-pl','pl',500,'https://www.kurier-mazurski.pl/sport',news('pl','Kurier Mazurski','https://www.kurier-mazurski.pl/','Błąd','''<h1>Coś poszło nie tak</h1><p>Wystąpił nieoczekiwany błąd serwera. Pracujemy nad jego usunięciem. Odśwież stronę za kilka minut.</p>''',['Wiadomości','Sport','Kultura','Ogłoszenia']),{},0.9,True)
R(S,'shop-error-nl','nl',200,'https://www.tuinmeubel-outlet.nl/loungesets',magento('nl','Tuinmeubel Outlet','https://www.tuinmeubel-outlet.nl/','Er is iets misgegaan','''<h1>Oeps, er ging iets mis</h1><p>Door een technische storing kunnen we deze pagina nu niet tonen. Probeer het over enkele minuten opnieuw of neem contact op met onze klantenservice.</p>''',['Loungesets','Tuintafels','Parasols','Sale']),{},1,True)
R(S,'sv-driftstopp','sv',503,'https://www.lansbiblioteket-vast.se/','''<!DOCTYPE html><html lang="sv"><head><meta charset="utf-8"><title>Driftstopp</title></head><body><h1>Webbplatsen är tillfälligt otillgänglig</h1><p>Vi har just nu tekniska problem och arbetar med att lösa felet. Välkommen tillbaka om en stund.</p></body></html>''',{},0.8)
R(S,'tr-veritabani','tr',200,'http://www.emlak-rehberim.com/','''<html><head><meta charset="utf-8"><title>Hata</title></head><body>Veritabanı bağlantısı kurulamadı. Lütfen daha sonra tekrar deneyiniz.</body></html>''',{},1)
R(S,'it-manutenzione','it',200,'https://www.acquedotto-valli.it/bollette',drupal('it','Acquedotto delle Valli','https://www.acquedotto-valli.it/','Sito in manutenzione','<p>Acquedotto delle Valli è attualmente in manutenzione. Dovremmo tornare presto. Grazie per la pazienza.</p>',['Servizi','Tariffe','Guasti','Contatti']),{},1,True)
