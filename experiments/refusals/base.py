import html as H
R=[]
def add(label,shape,status,url,page,lang="en",headers=None):
    R.append(dict(label=label,shape=shape,status=status,headers=headers or {},url=url,html=page.strip()+"\n",lang=lang))
def lis(nav,cls=""):
    return "".join('<li class="%s"><a href="/%s">%s</a></li>'%(cls,i,x) for i,x in enumerate(nav.split("|")))
# WordPress theme
def wp(title,site,nav,main,foot,lang="en",bc="home page",side="",theme="twentytwentyone",extra=""):
    s='<aside id="secondary" class="widget-area">%s</aside>'%side if side else ""
    return '''<!doctype html>
<html lang="%s">
<head>
<meta charset="UTF-8" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<title>%s</title>
<meta name="generator" content="WordPress 6.4.3" />
<link rel="stylesheet" id="%s-style-css" href="/wp-content/themes/%s/style.css?ver=1.9" media="all" />
<link rel="https://api.w.org/" href="/wp-json/" />
%s</head>
<body class="%s wp-embed-responsive">
<div id="page" class="site">
<a class="skip-link screen-reader-text" href="#content">Skip to content</a>
<header id="masthead" class="site-header"><div class="site-branding"><p class="site-title"><a href="/" rel="home">%s</a></p></div>
<nav id="site-navigation" class="primary-navigation"><ul id="primary-menu-list" class="menu-wrapper">%s</ul></nav></header>
<div id="content" class="site-content"><div id="primary" class="content-area"><main id="main" class="site-main">
%s
</main></div>%s</div>
<footer id="colophon" class="site-footer"><div class="site-info">%s</div></footer>
</div>
<script src="/wp-includes/js/wp-embed.min.js"></script>
</body>
</html>'''%(lang,title,theme,theme,extra,bc,site,lis(nav,"menu-item"),main,s,foot)
# Bootstrap site
def bs(title,site,nav,main,foot,lang="en",extra="",end="",login=""):
    return '''<!DOCTYPE html>
<html lang="%s">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1, shrink-to-fit=no">
  <title>%s</title>
  <link rel="stylesheet" href="/assets/css/bootstrap.min.css">
  <link rel="stylesheet" href="/assets/css/main.css">
  %s
</head>
<body>
  <nav class="navbar navbar-expand-lg navbar-light bg-light">
    <div class="container"><a class="navbar-brand" href="/">%s</a>
      <ul class="navbar-nav mr-auto">%s</ul>%s
    </div>
  </nav>
  <div class="container" role="main">
%s
  </div>
  <footer class="footer mt-5"><div class="container"><p class="text-muted">%s</p></div></footer>
  <script src="/assets/js/jquery.min.js"></script><script src="/assets/js/bootstrap.bundle.min.js"></script>
  %s
</body>
</html>'''%(lang,title,extra,site,lis(nav,"nav-item"),login,main,foot,end)
# Next.js
def nx(title,main,lang="en",nav="",foot="",page="/",extra=""):
    n='<header class="Header_root__x3Kd1"><nav><ul>%s</ul></nav></header>'%lis(nav) if nav else ""
    f='<footer class="Footer_root__9dZkP">%s</footer>'%foot if foot else ""
    return '''<!DOCTYPE html><html lang="%s"><head><meta charSet="utf-8"/><meta name="viewport" content="width=device-width"/><title>%s</title><meta name="next-head-count" content="3"/><link rel="preload" href="/_next/static/css/2f1a0c9be41d.css" as="style"/><script defer="" src="/_next/static/chunks/webpack-59c5c889f52620d6.js"></script><script src="/_next/static/chunks/main-f2e125da23ccdc4a.js" defer=""></script>%s</head><body><div id="__next">%s%s%s</div><script id="__NEXT_DATA__" type="application/json">{"props":{"pageProps":{}},"page":"%s","query":{},"buildId":"kQ3bq1GkFw0Uu9","nextExport":true,"isFallback":false}</script></body></html>'''%(lang,title,extra,n,main,f,page)
# Shopify Dawn
def sh(title,shop,nav,main,foot,lang="en",tmpl="404"):
    return '''<!doctype html>
<html class="js" lang="%s">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>%s</title>
<link rel="canonical" href="https://%s.example/">
<script>window.performance && window.performance.mark && window.performance.mark('shopify.content_for_header.start');</script>
<script id="shopify-features" type="application/json">{"accessToken":"8c1","betas":["rich-media-storefront-analytics"],"shopId":5519221}</script>
<script>var Shopify = Shopify || {};Shopify.shop = "%s.myshopify.com";Shopify.theme = {"name":"Dawn","id":1290};</script>
</head>
<body class="gradient template-%s">
<a class="skip-to-content-link button visually-hidden" href="#MainContent">Skip to content</a>
<div id="shopify-section-header" class="shopify-section section-header"><header class="header"><a href="/" class="header__heading-link"><span class="h2">%s</span></a><nav class="header__inline-menu"><ul class="list-menu list-menu--inline">%s</ul></nav></header></div>
<main id="MainContent" class="content-for-layout focus-none" role="main" tabindex="-1">
%s
</main>
<div id="shopify-section-footer" class="shopify-section"><footer class="footer">%s</footer></div>
</body>
</html>'''%(lang,title,shop.lower().replace(" ","-"),shop.lower().replace(" ","-"),tmpl,shop,lis(nav),main,foot)
# old table / classic layout
def old(title,site,nav,main,foot,lang="en",charset="iso-8859-1"):
    n=" | ".join('<a href="%s.html">%s</a>'%(i,x) for i,x in enumerate(nav.split("|")))
    return '''<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN">
<html lang="%s"><head><title>%s</title><meta http-equiv="Content-Type" content="text/html; charset=%s"></head>
<body bgcolor="#ffffff" text="#000000" link="#003399">
<table width="760" border="0" cellspacing="0" cellpadding="4" align="center">
<tr><td colspan="2" bgcolor="#003366"><font color="#ffffff" size="5"><b>%s</b></font></td></tr>
<tr><td colspan="2" bgcolor="#dddddd">%s</td></tr>
<tr><td valign="top">%s</td></tr>
<tr><td colspan="2"><hr><font size="1">%s</font></td></tr>
</table></body></html>'''%(lang,title,charset,site,n,main,foot)
# plain
def pl(title,body,lang="en",head=""):
    return '''<!DOCTYPE html>
<html lang="%s">
<head>
<meta charset="utf-8">
<title>%s</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
%s
</head>
<body>
%s
</body>
</html>'''%(lang,title,head,body)
